"""First boot: applies the settings of the card's firmware partition, all or none.

`barnacle setup` comes to the same end by questions.
"""
