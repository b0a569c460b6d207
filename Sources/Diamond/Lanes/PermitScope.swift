/// The lane and the origin that limit an exchange.
struct PermitScope: Hashable {
    var lane: Lane
    /// Scheme, host and port.
    var origin: String
}
