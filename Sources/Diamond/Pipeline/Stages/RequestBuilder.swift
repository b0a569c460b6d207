import Foundation
import HTTPTypes

/// Builds the request that is sent: with its secrets filled in, and the validators of the stored response.
struct RequestBuilder: Sendable {
    let environment: Environment
    /// `nil` where nobody can renew credentials.
    let refreshes: CredentialRefreshes?
    let time: RequestTime

    /// Returns the request that is sent for a plan whose secrets are filled in, or that has none.
    ///
    /// - Throws: `timedOut` where no time is left.
    // Not inlined, nor the following, to keep the async frames of waiting callers small.
    @inline(never)
    func request(for plan: ExchangePlan) throws(ConnectionError) -> ExchangeRequest {
        _ = try time.rest(of: plan.context.resolved, since: plan.begin)
        return ExchangeRequest(plan, try request(for: plan, plan.context.wire))
    }

    /// Returns the request that is sent for a plan, with its secrets.
    ///
    /// - Throws: `timedOut` where no time is left, `noCredential` where a secret is not known.
    @inline(never)
    func filledRequest(for plan: ExchangePlan) async throws(ConnectionError) -> ExchangeRequest {
        guard plan.hasSecrets else { return try request(for: plan) }
        // Known before they are filled in.
        let plan = dated(plan)
        let resolved = plan.context.resolved
        let wire = try await environment.fill(resolved.wire, within: time.left(of: resolved, since: plan.begin))
        return ExchangeRequest(plan, try request(for: plan, wire))
    }

    /// Returns the plan with the age of its credentials.
    private func dated(_ plan: ExchangePlan) -> ExchangePlan {
        guard let refreshes else { return plan }
        return plan.dated(refreshes.count, isOfRefresh: refreshes.isMaking(plan.context.wire))
    }

    /// - Parameter wire: the request with its secrets filled in.
    @inline(never)
    private func request(for plan: ExchangePlan, _ wire: WireRequest) throws(ConnectionError) -> TransportRequest {
        let context = plan.context
        var items = wire.parameterItems
        items.append(contentsOf: wire.filledItems)
        let url = wire.url.text(adding: items)
        var request = TransportRequest(
            method: wire.method, url: url, headers: wire.headers, timeout: context.resolved.timeout)
        // Ranges count coded bytes: without a coding, the rest of a response that breaks can be asked for.
        if context.caller.sink?.isContinuable == true, request.headers[.acceptEncoding] == nil {
            request.headers[.acceptEncoding] = "identity"
        }
        // RFC 9111 section 4.3.1.
        if let headers = plan.validators?.headers {
            if let tag = headers.validator(.eTag) { request.headers[.ifNoneMatch] = tag }
            if let date = headers.validator(.lastModified) { request.headers[.ifModifiedSince] = date }
        }
        if let upload = context.caller.upload { request.body = upload.body }
        do throws(RequestError) {
            if let body = wire.body { try request.carry(body, wire.encoding, context.resolved.files) }
        } catch {
            throw ConnectionError(error)
        }
        return request
    }

    /// Returns how the credentials of an exchange are renewed; `nil` where they cannot be.
    func renewal(of plan: ExchangePlan) -> ExchangeOptions.Renewal? {
        guard let refreshes, plan.context.resolved.hasNamedSecrets, !plan.isOfRefresh else { return nil }
        let wire = plan.context.wire
        let count = plan.refreshes
        return ExchangeOptions.Renewal {
            refreshes.allows(wire, since: count)
        } request: { [self] () async throws(ConnectionError) in
            try await refreshes.refresh(wire, since: count)
            return try await filledRequest(for: plan).request
        }
    }
}

extension TransportRequest {
    /// Takes a body: whole where it is in memory, else in pieces, which can be made again for every attempt.
    ///
    /// - Parameter files: those that the request's identity tells of: an answer to others would be stored under it.
    fileprivate mutating func carry(
        _ body: RequestBody,
        _ encoding: ParameterEncoding,
        _ files: [FileFingerprint]
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
