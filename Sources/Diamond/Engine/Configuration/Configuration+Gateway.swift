import HTTPTypes

extension Engine.Configuration {
    /// Makes the configuration that of a gateway: without headers, credentials, redirects and retries of its own.
    ///
    /// - Parameter width: the greatest number of exchanges at the same time.
    package mutating func makeGateway(_ gateway: Gateway = Gateway(), width: Int) {
        self.gateway = gateway
        identityPreset = .http
        self.width = width
        originWidth = width
        headers = [:]
        credentials = nil
        redirectLimit = 0
        retry = .never
    }

    /// Replaces the transport by one that uses it, and that has its settings.
    ///
    /// - Throws: `badSettings` for settings that cannot be applied.
    package mutating func replaceTransport(
        _ replacement: (any Transport) -> any Transport
    ) throws(TransportError) {
        if let refusal = transportSettings.tls.refusal { throw refusal }
        transport = replacement(Engine.transport(of: self))
        transportSettings = TransportSettings()
    }
}
