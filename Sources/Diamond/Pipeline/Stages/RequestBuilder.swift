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

    /// Returns the plan of an exchange, with the secrets of its request filled in.
    ///
    /// - Throws: `timedOut` if no time is left, `noCredential` if a secret is not known.
    @inline(never)
    func plan(
        for context: RequestContext,
        _ revalidation: Revalidation,
        mayBeSuperseded: Bool = true,
        timeStart: EngineTime?,
        parent: ActivityInterval.ID?
    ) async throws(ConnectionError) -> ExchangePlan {
        guard !context.resolved.hasNamedSecrets else {
            return try await planWithSecrets(
                for: context, revalidation, mayBeSuperseded: mayBeSuperseded, timeStart: timeStart, parent: parent)
        }
        _ = try time.rest(of: context.resolved, since: timeStart)
        return ExchangePlan(
            context, revalidation, mayBeSuperseded: mayBeSuperseded, timeStart: timeStart, parent: parent,
            request: try transportRequest(for: context, revalidation, wire: context.wire))
    }

    @inline(never)
    private func planWithSecrets(
        for context: RequestContext,
        _ revalidation: Revalidation,
        mayBeSuperseded: Bool,
        timeStart: EngineTime?,
        parent: ActivityInterval.ID?
    ) async throws(ConnectionError) -> ExchangePlan {
        let left = try time.left(of: context.resolved, since: timeStart)
        // Counted before the secrets are filled in.
        let count = refreshes?.count ?? 0
        let isSentByRefresh = refreshes?.isRefreshing(context.wire) ?? false
        let wire = try await left.value { [environment] () async throws(ConnectionError) in
            try await environment.filled(context.wire)
        }
        return ExchangePlan(
            context, revalidation, mayBeSuperseded: mayBeSuperseded, timeStart: timeStart, parent: parent,
            request: try transportRequest(for: context, revalidation, wire: wire), refreshes: count,
            isSentByRefresh: isSentByRefresh)
    }

    /// Returns a plan again, with the secrets as they are now.
    ///
    /// - Parameters:
    ///   - revalidation: the stored responses of the new plan.
    ///   - timeStart: the start of the request's time.
    func rebuilt(
        _ plan: ExchangePlan,
        _ revalidation: Revalidation,
        since timeStart: EngineTime?
    ) async throws(ConnectionError) -> ExchangePlan {
        try await self.plan(for: plan.context, revalidation, timeStart: timeStart, parent: plan.parent)
    }

    /// - Parameter wire: the request with its secrets filled in.
    private func transportRequest(
        for context: RequestContext,
        _ revalidation: Revalidation,
        wire: WireRequest
    ) throws(ConnectionError) -> TransportRequest {
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
        if let stored = revalidation.validators { request.headers.addValidators(of: stored.headers) }
        request.headers.addTags(of: revalidation.variants.map(\.response.headers))
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
    func canRenewCredentials(of plan: ExchangePlan) -> Bool {
        guard let refreshes, plan.hasSecrets, !plan.isSentByRefresh else { return false }
        return refreshes.allows(plan.context.wire, since: plan.refreshes)
    }

    /// Returns a request with newer credentials than those that it was sent with.
    func renewedRequest(of plan: ExchangePlan) async throws(ConnectionError) -> TransportRequest {
        try await refreshes?.refresh(plan.context.wire, since: plan.refreshes)
        return try await rebuilt(plan, plan.revalidation, since: plan.timeStart).request
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
