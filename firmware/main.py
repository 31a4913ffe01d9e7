# Starts the firmware, unless boot.py was asked to stay at the prompt.

if not globals().get("stay_at_prompt", False):
    import board
    from node import loop

    loop.run(board)
