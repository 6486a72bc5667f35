"""Components that speak the protocol: in any language, behind HTTP or gRPC."""
