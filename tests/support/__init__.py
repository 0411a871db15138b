"""What tests share: builders, servers, browsers."""
