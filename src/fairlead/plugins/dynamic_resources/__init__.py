"""DynamicResources: devices for pods, by ResourceClaims or as extended resources."""
