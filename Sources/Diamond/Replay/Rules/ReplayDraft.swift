import Crypto
import Foundation
import HTTPTypes

/// A job before it has a row: everything that is written of a request.
struct ReplayDraft: Hashable, Sendable {
    /// The request in its written form, without secrets.
    var request: Data
    var method: String
    /// The URL for display.
    var url: String
    var host: String
    var identity: String?
    var lane: String
    var tags: [String]
    var policy: ReplayPolicy
    var isIdempotent: Bool
    var idempotencyKey: String?
    /// The reason for which the job itself is held from the start; `nil` if it is not.
    var heldReason: ReplayReason? { policy.awaitsID ? .awaitingID : isHeld ? .held : nil }
    /// The name of the typed call.
    var kind: String? { policy.kind }
    /// The earliest time at which it is sent, in milliseconds since 1970; `nil` for now.
    var runAt: Int64?
    /// The time of expiry, in milliseconds since 1970, if another queue has set it already; `nil` for the policy's
    /// time.
    var expiresAt: Int64?
    /// Whether the job itself is held from the start.
    var isHeld = false
    /// The attempts so far.
    var history = History()

    /// Attempts that were made before the job was a job.
    struct History: Hashable, Sendable {
        struct Failure: Hashable, Sendable {
            var startedAt: Int64
            var code: String
            var message: String
        }

        var failures: [Failure] = []
        /// The last one's: decides when the job is sent next, and whether at all.
        var outcome: ReplayOutcome?
        /// The first attempt that may have been processed unseen.
        var unknownAt: Int64?
        /// A random number from 0 up to 1. It keeps requests that failed together from being repeated together.
        var draw = 0.5
    }

    /// - Parameters:
    ///   - request: with everything that the engine adds to it.
    ///   - rules: say what of it is secret.
    ///   - freshKey: of a request that has no `Idempotency-Key` and needs one.
    init(_ request: Request, rules: KeyRules, freshKey: @autoclosure () -> String) throws(ReplayError) {
        do throws(RequestError) {
            let request = request.withoutFragment
            let wire = try WireRequest(request)
            try Self.refuseSecrets(of: request, wire, rules.adding(wire))
            (method, url) = (wire.method.rawValue, wire.printableURL(rules))
            host = String(String(decoding: wire.url.origin, as: UTF8.self).drop { $0 != "/" }.dropFirst(2))
            (identity, lane, tags) = (request.identity, request.lane.name, request.tags.sorted())
            (policy, isIdempotent) = (request.replay, wire.method.isIdempotent)
            let keyed = request.keyed(else: freshKey)
            idempotencyKey = HTTPField.Name.idempotencyKey.flatMap { keyed.headers[$0] }
            self.request = try keyed.json()
        } catch {
            throw ReplayError(error)
        }
    }

    /// A hash of the identity and the unique name, which one job at a time is to have; `nil` without a unique name.
    var uniqueKey: Data? {
        guard let unique = policy.unique else { return nil }
        var hash = SHA256()
        // Lengths, so that no name and identity can be taken for others.
        for part in [identity ?? "", unique] {
            hash.update(data: Data("\(part.utf8.count):".utf8))
            hash.update(data: Data(part.utf8))
        }
        hash.update(data: Data([identity == nil ? 0 : 1]))
        return Data(hash.finalize())
    }

    /// - Parameter now: in milliseconds since 1970.
    func expiry(at now: Int64) -> Int64? { expiresAt ?? policy.expiry.map { now + $0.milliseconds } }

    // MARK: Secrets

    private static func refuseSecrets(
        of request: Request, _ wire: WireRequest, _ rules: KeyRules
    ) throws(RequestError) {
        for credential in request.credentials where credential.secret.name == nil {
            throw refusal("a secret without a name", "use .secret(\"name\")")
        }
        if wire.url.userInfo != nil { throw refusal("user and password in its URL", remedy) }
        // Its name has the sound of a secret, and is none: whoever has it can have the answer again, and nothing else.
        for field in wire.headers where !field.name.isIdempotencyKey && rules.isCredential(field.name) {
            throw refusal("the header \(field.name.rawName), which is a credential", remedy)
        }
        for item in wire.items.sorted where rules.isSecret(item) {
            throw refusal("the parameter \(String(decoding: item.name, as: UTF8.self)), which is a secret", remedy)
        }
        if JSONValue.object(request.replay.metadata).hasSecretMember(rules) {
            throw refusal("a member of its metadata that is a secret", bodyRemedy)
        }
        // Encoded as JSON, a parameter's members have no items of their own.
        if (Array(request.parameters) + fields(of: wire)).contains(where: { $0.value.hasSecretMember(rules) }) {
            throw refusal("a member of a parameter that is a secret", bodyRemedy)
        }
        if let body = wire.body { try refuseSecrets(of: body, wire, rules) }
    }

    private static func refuseSecrets(
        of body: RequestBody, _ wire: WireRequest, _ rules: KeyRules
    ) throws(RequestError) {
        if case .file = body { return }
        if case .multipart(let parts) = body {
            guard !parts.contains(where: { rules.isSecret($0, guesses: false) }) else {
                throw refusal("a part of its body that is a secret", bodyRemedy)
            }
            return
        }
        let (bytes, type) = (Array(try body.encoded(wire.encoding)), wire.headers[.contentType])
        guard !rules.hasSecretMember(body, bytes, type, guesses: false) else {
            throw refusal("a member of its body that is a secret", bodyRemedy)
        }
        guard !body.isForm(as: type) || !QueryItem.items(of: bytes).contains(where: rules.isSecret) else {
            throw refusal("a field of its form that is a secret", bodyRemedy)
        }
    }

    private static func fields(of wire: WireRequest) -> Parameters {
        if case .form(let fields) = wire.body { fields } else { [:] }
    }

    private static let remedy = "name it in the request's credentials, with .secret(\"name\")"
    private static let bodyRemedy = "send it without replay"

    private static func refusal(_ what: String, _ remedy: String) -> RequestError {
        RequestError(
            .unnamedSecret, "the request is to be kept on disk, where no secret is written, and has \(what): \(remedy)")
    }
}

extension HTTPField.Name {
    /// draft-ietf-httpapi-idempotency-key-header.
    static let idempotencyKey = HTTPField.Name("Idempotency-Key")
}

extension Request {
    /// Returns the request with an `Idempotency-Key`, if its method needs one to be sent again and the server honors
    /// it.
    func keyed(else freshKey: () -> String) -> Request {
        guard let name = HTTPField.Name.idempotencyKey, headers[name] == nil, !method.isIdempotent,
            replay.keyLifetime != nil
        else { return self }
        var request = self
        request.headers[name] = freshKey()
        return request
    }
}

extension Request {
    /// A fragment is never sent, and may hold a token.
    fileprivate var withoutFragment: Request {
        guard let mark = url.unicodeScalars.firstIndex(of: "#") else { return self }
        var request = self
        request.url = String(url.unicodeScalars[..<mark])
        return request
    }
}
