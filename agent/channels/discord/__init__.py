"""Discord, by its Gateway v10 and its REST API: a bot of the owner's that people write to."""
