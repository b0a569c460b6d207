import Foundation
import HTTPTypes

/// Builds the request that is sent: fills in its secrets, and adds the validators of the stored response.
///
/// It is a class, as ``Admission`` is.
final class RequestBuilder: Sendable {
    let environment: Environment
    /// The refreshes of credentials; `nil` if the provider cannot renew them.
    let refreshes: CredentialRefreshes?
    let time: RequestTime

    init(environment: Environment, refreshes: CredentialRefreshes?, time: RequestTime) {
        self.environment = environment
        self.refreshes = refreshes
        self.time = time
    }

    /// Returns the request that is sent for a plan whose secrets are filled in, or that has none.
    ///
    /// - Throws: `timedOut` if no time is left.
    func request(for plan: ExchangePlan) throws(ConnectionError) -> ExchangeRequest {
        _ = try time.rest(of: plan.context.resolved, since: plan.timeStart)
        return ExchangeRequest(try transportRequest(for: plan, wire: plan.context.wire), for: plan)
    }

    /// Returns the request that is sent for a plan, with its secrets.
    ///
    /// - Throws: `timedOut` if no time is left, `noCredential` if a secret is not known.
    func filledRequest(for plan: ExchangePlan) async throws(ConnectionError) -> ExchangeRequest {
        guard plan.hasSecrets else { return try request(for: plan) }
        let resolved = plan.context.resolved
        // Counted before the secrets are filled in.
        let count = refreshes?.count ?? 0
        let isSentByRefresh = refreshes?.isRefreshing(resolved.wire) ?? false
        let wire = try await environment.fill(resolved.wire, within: time.left(of: resolved, since: plan.timeStart))
        return ExchangeRequest(
            try transportRequest(for: plan, wire: wire), for: plan, refreshes: count, isSentByRefresh: isSentByRefresh)
    }

    /// - Parameter wire: the request with its secrets filled in.
    private func transportRequest(for plan: ExchangePlan, wire: WireRequest) throws(ConnectionError) -> TransportRequest
    {
        let context = plan.context
        var request = TransportRequest(
            method: wire.method, url: url(of: wire, for: context), headers: wire.headers,
            timeout: context.resolved.timeout)
        request.filledSecrets = wire.filledValues
        request.target = context.caller.target
        request.passesCoding = environment.gateway != nil
        request.onInterim = context.caller.sink?.onInterim
        // Ranges count coded bytes, so the rest of a broken response can be requested only if it has no coding.
        if context.caller.sink?.isContinuable == true, request.headers[.acceptEncoding] == nil {
            request.headers[.acceptEncoding] = "identity"
        }
        if let stored = plan.revalidation.validators { request.headers.addValidators(of: stored.headers) }
        request.headers.addTags(of: plan.revalidation.variants.map(\.response.headers))
        if let upload = context.caller.upload { request.body = upload.body }
        do throws(RequestError) {
            if let body = wire.body {
                try request.setBody(body, encoding: wire.encoding, files: context.resolved.files)
            }
        } catch {
            throw ConnectionError(error)
        }
        // A reused connection may be closed meanwhile, and a request that cannot be repeated would fail.
        request.needsNewConnection = request.passesCoding && !request.isRepeatable
        return request
    }

    /// Returns the URL that is sent. Few requests have secrets in it, which are filled in.
    private func url(of wire: WireRequest, for context: RequestContext) -> String {
        let secrets = wire.filledItems
        guard !secrets.isEmpty else { return context.url }
        var items = wire.parameterItems
        items.append(contentsOf: secrets)
        return wire.url.text(adding: items)
    }

    /// Whether the credentials of a request may be renewed at this time.
    func canRenewCredentials(of request: ExchangeRequest) -> Bool {
        guard let refreshes, request.plan.hasSecrets, !request.isSentByRefresh else { return false }
        return refreshes.allows(request.context.wire, since: request.refreshes)
    }

    /// Returns a request with newer credentials than those that it was sent with.
    func renewedRequest(of request: ExchangeRequest) async throws(ConnectionError) -> TransportRequest {
        try await refreshes?.refresh(request.context.wire, since: request.refreshes)
        return try await filledRequest(for: request.plan).request
    }
}

extension TransportRequest {
    /// Sets the body: as a whole if it is in memory, otherwise in pieces that can be created again for every attempt.
    ///
    /// - Parameter files: the files that the request's identity was computed from. If they have changed, the response
    ///   must not be stored under it.
    fileprivate mutating func setBody(
        _ body: RequestBody,
        encoding: ParameterEncoding,
        files: [FileFingerprint]
    ) throws(RequestError) {
        let boundary = RequestBody.randomBoundary()
        let segments = try body.segments(encoding, boundary: boundary)
        if let file = files.first(where: { !segments.contains(.file($0)) }) { throw .changed(file.path) }
        if case .multipart = body { headers[.contentType] = "multipart/form-data; boundary=\(boundary)" }
        if segments.count == 1, case .bytes(let data) = segments[0] {
            self.body = .bytes(data)
        } else {
            let length = segments.reduce(0) { $0 + $1.length }
            self.body = .stream(length: length) { BodyPieces(segments: segments) }
        }
    }
}
