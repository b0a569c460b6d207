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
}
