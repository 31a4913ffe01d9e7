"""WhatsApp by the Cloud API of its maker: pushed to us, and answered over HTTP."""
