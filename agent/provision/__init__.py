"""First boot: what the card's firmware partition says is taken over, whole or not at all.

`barnacle setup` comes to the same end by questions.
"""
