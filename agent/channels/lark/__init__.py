"""A channel by an app of Lark, which is called Feishu in China."""
