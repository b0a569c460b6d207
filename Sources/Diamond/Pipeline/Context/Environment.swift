import DiamondSQLite
import Foundation
import HTTPTypes

/// The engine's additions to every request: its base URL, headers and identity before the request is keyed, and the
/// values of its secrets when it is sent.
struct Environment: Sendable {
    private static let count = Guarded(0)

    /// The number of this environment, unique in the process.
    let number = Self.count.withLock { count in
        count += 1
        return count
    }
    /// The URL that relative URLs are resolved against.
    var baseURL: String?
    /// The defaults for requests to some URLs, or the error for a malformed one.
    var scopedDefaults: Result<[ScopedDefaults], ConnectionError> = .success([])
    /// The headers sent with every request that does not set them itself.
    var headers: HTTPFields = [:]
    /// The engine's own rules, and the store's key.
    var rules = KeyRules()
    var provider: (any CredentialProvider)?
    /// The settings of a gateway; `nil` for an engine of an app.
    var gateway: Gateway?

    /// Returns the request as it is keyed, persisted and sent.
    ///
    /// - Parameter left: the time that the provider may take; `nil` if neither time nor cancellation ends the wait.
    func resolve(_ request: Request, within left: RemainingTime? = nil) async throws(ConnectionError) -> Request {
        var resolved = request
        try complete(&resolved)
        guard provider != nil, resolved.identity == nil else { return resolved }
        let name = { @Sendable [resolved] () async throws(ConnectionError) in try await self.identity(of: resolved) }
        let identity = if let left { try await left.value(name) } else { try await name() }
        resolved.provide(identity: identity)
        return resolved
    }

    /// Adds the base URL and the headers to a request.
    func complete(_ request: inout Request) throws(ConnectionError) {
        do throws(MalformedURL) { if baseURL != nil { request.url = try request.resolvedURL(within: baseURL) } } catch {
            throw ConnectionError(RequestError(error))
        }
        if try !scopedDefaults.get().isEmpty { try addDefaults(to: &request) }
        let excludesType = headers.contains(.contentType) && request.hasOwnContentType
        // Requests without headers share the storage of these.
        if request.headers.isEmpty, !headers.isEmpty, !excludesType { return request.headers = headers }
        // One assignment, because a request discards its resolved form with each change.
        var fields = request.headers
        for field in headers
        where !request.headers.contains(field.name) && !(excludesType && field.name == .contentType) {
            fields.append(field)
        }
        if fields.count > request.headers.count { request.headers = fields }
    }

    private func addDefaults(to request: inout Request) throws(ConnectionError) {
        // A malformed URL is reported when the request is resolved.
        guard let url = try? RequestURL(parsing: request.url) else { return }
        let all = try scopedDefaults.get()
        request.add(all.filter { url.isBelow($0.prefix) }.map(\.defaults))
    }

    private func identity(of request: Request) async throws(ConnectionError) -> String? {
        do {
            guard let provider else { return nil }
            return try await Hook.run { try await provider.identity(for: request) }
        } catch {
            let message = "the credential provider could not say for whom the request is: see the cause"
            throw ConnectionError(.noCredential, message, cause: error)
        }
    }

    /// Returns the request with its named secrets filled in, which is only sent, never stored.
    func filled(_ wire: WireRequest) async throws(ConnectionError) -> WireRequest {
        var filled = wire
        for credential in wire.namedCredentials {
            let value = try await value(of: credential.secret.name ?? "", for: wire.identity)
            do { try filled.fill(credential, with: value) } catch { throw ConnectionError(error) }
        }
        return filled
    }

    private func value(of name: String, for identity: String?) async throws(ConnectionError) -> String {
        let value: String?
        do {
            value = try await Hook.run { try await provider?.secret(name, for: identity) }
        } catch {
            let message = "the credential provider failed on the secret '\(name)': see the cause"
            throw ConnectionError(.noCredential, message.printable, cause: error)
        }
        guard let value else {
            let message = "the secret '\(name)' is not known: give the engine a credential provider that knows it"
            throw ConnectionError(.noCredential, message.printable)
        }
        return value
    }
}

/// Defaults, and the URL at and below which they apply.
struct ScopedDefaults: Sendable {
    let prefix: RequestURL
    let defaults: RequestDefaults

    /// Returns the defaults with their URLs resolved.
    static func all(
        _ all: [RequestDefaults], within baseURL: String?
    ) -> Result<[ScopedDefaults], ConnectionError> {
        do throws(MalformedURL) {
            return .success(
                try all.map { defaults throws(MalformedURL) in
                    var prefix = defaults.prefix
                    if let baseURL { prefix = try RequestURL.resolve(prefix, within: baseURL) }
                    return ScopedDefaults(prefix: try RequestURL(parsing: prefix), defaults: defaults)
                })
        } catch {
            let error = MalformedURL(message: "the engine's defaults: \(error.message)")
            return .failure(ConnectionError(RequestError(error)))
        }
    }
}

extension Request {
    /// Whether its body determines the content type, so that a header of the engine must not replace it.
    fileprivate var hasOwnContentType: Bool {
        switch body {
        case .form, .multipart: true
        case .bytes(_, let type), .file(_, let type): type != nil
        case .json, .jsonText: false
        case nil: !parameters.isEmpty && effectiveDestination == .form
        }
    }
}

/// The settings of an engine that forwards the requests of other programs (RFC 9110 section 3.7).
///
/// Bodies pass as they came. The transport requests no content coding of its own and removes none, and coded bodies are
/// stored with their coding. A cacheable response is stored while it is passed on.
package struct Gateway: Sendable {
    /// Whether `Set-Cookie` is stored, and served with the stored response (RFC 9111 section 7.3).
    package var keepsCookies: Bool

    package init(keepsCookies: Bool = true) { self.keepsCookies = keepsCookies }
}
