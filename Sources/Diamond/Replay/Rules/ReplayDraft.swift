import Crypto
public import Foundation
import HTTPTypes

/// A job before it has a row: everything that the queue stores of a request.
public struct ReplayDraft: Hashable, Sendable {
    /// The request in its written form, without secrets.
    public internal(set) var request: Data
    /// The request's method.
    public let method: String
    /// The URL for display, with secrets masked.
    public let url: String
    /// The URL's host, in lower case, with its port if the URL names one.
    let host: String
    /// The identity on whose behalf the request is sent; `nil` for none.
    public let identity: String?
    /// The name of the request's lane.
    public let lane: String
    /// The request's tags, sorted.
    let tags: [String]
    /// The policy, whose values the row takes.
    public package(set) var policy: ReplayPolicy
    /// Whether the request's method is idempotent.
    package let isIdempotent: Bool
    /// The `Idempotency-Key` sent with every attempt; `nil` for none.
    let idempotencyKey: String?
    /// The reason why the job itself is held from the start; `nil` if it is not held.
    var heldReason: ReplayReason? { !policy.awaits.isEmpty ? .awaitingID : isHeld ? .held : nil }
    /// Whether the answer to the job, or its failure, is stored until it is consumed.
    public var storesAnswer: Bool { policy.storesAnswer }
    /// The local ids of objects whose ids the request needs. The job is held until they are known.
    public var awaitedIDs: Set<String> { policy.awaits }
    /// The local id of the object that the request creates; `nil` for none.
    public var createdID: String? { policy.creates?.localID }
    /// The earliest time at which the job is sent; `nil` for now.
    var runAt: QueueTime?
    /// The time of expiry, if another queue has set it already; `nil` for the time that the policy sets.
    var expiresAt: QueueTime?
    /// Whether the job itself is held from the start.
    var isHeld = false
    /// Whether the draft is added even if no job creates an object to which it refers.
    public internal(set) var mayLackObjects = false
    /// The attempts so far.
    public internal(set) var history = History()

    /// The attempts before the request became a job.
    public struct History: Hashable, Sendable {
        /// A failed attempt.
        public struct Failure: Hashable, Sendable {
            /// The start of the attempt.
            public var startedAt: QueueTime
            /// A short code (``ReplayFailure/code``).
            public var code: String
            /// A description in one line, without secrets.
            public var message: String

            /// Creates a failure from its parts.
            public init(startedAt: QueueTime, code: String, message: String) {
                self.startedAt = startedAt
                self.code = code
                self.message = message
            }
        }

        /// The failed attempts, the oldest first.
        public internal(set) var failures: [Failure] = []
        /// The outcome of the last attempt. It decides whether and when the job is sent next.
        public internal(set) var outcome: ReplayOutcome?
        /// The start of the first attempt that may have been processed with an unknown outcome.
        public internal(set) var unknownSince: QueueTime?
        /// A random number from 0 up to 1, so that requests that failed together are not repeated together.
        public internal(set) var draw = 0.5
    }

    /// Creates the draft of a request.
    ///
    /// - Parameters:
    ///   - request: the request, with everything that the engine adds to it.
    ///   - rules: the rules that find secrets in the request.
    ///   - freshKey: a new `Idempotency-Key`, for a request that has none and needs one.
    /// - Throws: ``ReplayError`` if the request cannot be stored, for example because it has an unnamed secret.
    init(_ request: Request, rules: KeyRules, freshKey: @autoclosure () -> String) throws(ReplayError) {
        do throws(RequestError) {
            let request = request.withoutFragment
            let wire = try WireRequest(request)
            try Self.refuseSecrets(of: request, wire: wire, rules: rules.adding(wire))
            method = wire.method.rawValue
            url = wire.printableURL(rules)
            host = String(String(decoding: wire.url.origin, as: UTF8.self).drop { $0 != "/" }.dropFirst(2))
            identity = request.identity
            lane = request.lane.name
            tags = request.tags.sorted()
            isIdempotent = wire.method.isIdempotent
            var keyed = request.keyed(else: freshKey)
            // An edited or merged request may no longer have an id that it was to wait for.
            if !keyed.replay.awaits.isEmpty { keyed.replay.awaits.formIntersection(keyed.localIDs) }
            policy = keyed.replay
            idempotencyKey = keyed.headers[.idempotencyKey]
            self.request = try keyed.json()
        } catch {
            throw ReplayError(error)
        }
    }

    /// Creates the draft of a request as it is, for the tests of a storage.
    ///
    /// - Throws: ``ReplayError`` if the request cannot be stored.
    public init(_ request: Request) throws(ReplayError) {
        try self.init(request, rules: KeyRules(), freshKey: UUID().uuidString)
    }

    /// Sets the earliest time at which the job is sent.
    public mutating func delay(until time: QueueTime) { runAt = time }

    /// A digest of the identity and the unique name; `nil` without a unique name. Only one waiting job has it.
    public var uniqueKey: Data? {
        guard let unique = policy.unique else { return nil }
        var hash = SHA256()
        // The lengths keep different pairs of name and identity apart.
        for part in [identity ?? "", unique] {
            hash.update(data: Data("\(part.utf8.count):".utf8))
            hash.update(data: Data(part.utf8))
        }
        hash.update(data: Data([identity == nil ? 0 : 1]))
        return Data(hash.finalize())
    }

    /// Whether the request of a job is the draft's: it has the same `Idempotency-Key`, or is equal if the draft has
    /// none.
    ///
    /// - Parameter stored: the request of the job (``request``). One that cannot be read counts as the same.
    public func isSame(as stored: Data) -> Bool {
        guard stored != request, let other = try? Self.request(from: stored) else { return true }
        if let idempotencyKey { return other.headers[.idempotencyKey] == idempotencyKey }
        return (try? Self.request(from: request)) == other
    }

    /// Returns the time of expiry; `nil` for none.
    func expiry(at now: QueueTime) -> QueueTime? { (expiresAt ?? policy.expiry.map { now + $0 })?.bounded }

    // MARK: Secrets

    private static func refuseSecrets(
        of request: Request, wire: WireRequest, rules: KeyRules
    ) throws(RequestError) {
        for credential in request.credentials where credential.secret.name == nil {
            throw refusal("a secret without a name", remedy: "use .secret(\"name\")")
        }
        if wire.url.userInfo != nil { throw refusal("user and password in its URL", remedy: remedy) }
        // An idempotency key matches the patterns of secrets, but is none: it only lets its holder get the same
        // response.
        for field in wire.headers where !field.name.isIdempotencyKey && rules.isCredential(field.name) {
            throw refusal("the header \(field.name.rawName), which is a credential", remedy: remedy)
        }
        for item in wire.items.sorted where rules.isSecret(item) {
            throw refusal(
                "the parameter \(String(decoding: item.name, as: UTF8.self)), which is a secret", remedy: remedy)
        }
        if JSONValue.object(request.replay.metadata).hasSecretMember(rules) {
            throw refusal("a member of its metadata that is a secret", remedy: bodyRemedy)
        }
        if let call = request.replay.call, rules.hasSecretMember(json: call) {
            throw refusal("a member of its stored call that is a secret", remedy: callRemedy)
        }
        // A parameter encoded as JSON is one query item, so its members have to be checked here.
        if (Array(request.parameters) + fields(of: wire)).contains(where: { $0.value.hasSecretMember(rules) }) {
            throw refusal("a member of a parameter that is a secret", remedy: bodyRemedy)
        }
        if let body = wire.body { try refuseSecrets(of: body, wire: wire, rules: rules) }
    }

    private static func refuseSecrets(
        of body: RequestBody, wire: WireRequest, rules: KeyRules
    ) throws(RequestError) {
        if case .file = body { return }
        if case .multipart(let parts) = body {
            guard !parts.contains(where: { rules.isSecret($0, guesses: false) }) else {
                throw refusal("a part of its body that is a secret", remedy: bodyRemedy)
            }
            return
        }
        let bytes = Array(try body.encoded(wire.encoding))
        let type = wire.headers[.contentType]
        guard !rules.hasSecretMember(body, bytes: bytes, type: type, guesses: false) else {
            throw refusal("a member of its body that is a secret", remedy: bodyRemedy)
        }
        guard !body.isForm(as: type) || !QueryItem.items(of: bytes).contains(where: rules.isSecret) else {
            throw refusal("a field of its form that is a secret", remedy: bodyRemedy)
        }
    }

    private static func fields(of wire: WireRequest) -> Parameters {
        if case .form(let fields) = wire.body { fields } else { [:] }
    }

    private static let remedy =
        "name it in the request's credentials, with .secret(\"name\"), in JSON {\"secret\": \"name\"}"
    private static let bodyRemedy = "send it without replay"
    private static let callRemedy = "leave it out of the call's coding keys"

    private static func refusal(_ secret: String, remedy: String) -> RequestError {
        RequestError(
            .unnamedSecret,
            "a request that is stored on disk must not contain a secret, and this one has \(secret): \(remedy)")
    }
}

extension Request {
    /// Returns the request with an `Idempotency-Key`, if its method needs one to be sent again and the server honors
    /// it.
    func keyed(else freshKey: () -> String) -> Request {
        guard headers[.idempotencyKey] == nil, !method.isIdempotent, replay.keyLifetime != nil else { return self }
        var request = self
        request.headers[.idempotencyKey] = freshKey()
        return request
    }
}

extension Request {
    /// The request without the fragment of its URL, which is never sent, and may contain a token.
    fileprivate var withoutFragment: Request {
        guard let mark = url.unicodeScalars.firstIndex(of: "#") else { return self }
        var request = self
        request.url = String(url.unicodeScalars[..<mark])
        return request
    }
}
