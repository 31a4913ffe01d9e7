"""WhatsApp by the Cloud API: pushed to the gateway, answered over HTTP."""
