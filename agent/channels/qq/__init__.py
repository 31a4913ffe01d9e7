"""QQ, by its platform for official bots: people write to one in private, in groups and guilds."""
