import Diamond
import DiamondSQLite
import Foundation

/// The identities for which a context has loaded and saved objects: one for each origin, the first that was named.
final class ContextIdentities: Sendable {
    /// The objects of a class at an origin.
    struct Subject: Hashable, Sendable {
        let type: ObjectIdentifier
        let origin: String
    }

    /// The known identities.
    struct Record: Sendable {
        private var owners: [String: String] = [:]
        /// The subjects that had an identity.
        private var owned: Set<Subject> = []
        /// The identities of the last calls, by class and of all.
        fileprivate var current: [ObjectIdentifier: Current] = [:]
        fileprivate var latest: Current?
        /// The number of changes of these identities.
        fileprivate var changes = 0

        /// Records the identity of a call, and returns whether the context may have its objects: the identity is the
        /// first of the origin, or the call has none, as all earlier calls of its class.
        mutating func admits(_ identity: String?, for subject: Subject) -> Bool {
            guard let identity else { return !owned.contains(subject) }
            let owner = owners[subject.origin] ?? identity
            guard owner.isExactly(identity) else { return false }
            owners[subject.origin] = owner
            owned.insert(subject)
            return true
        }

        /// Notes the identity of the last call of a class.
        fileprivate mutating func note(_ identity: Current, of type: ObjectIdentifier) {
            if (current[type] ?? latest) != identity { changes += 1 }
            current[type] = identity
            latest = identity
        }
    }

    /// The identity of a call, as the context sees it.
    fileprivate enum Current: Hashable {
        /// An identity that may have the context's objects; `nil` for none.
        case admitted(String?)
        case refused

        func isExactly(_ identity: String?) -> Bool {
            if case .admitted(let own) = self { own.isExactly(identity) } else { false }
        }
    }

    private let state = Guarded(Record())

    /// Records the identity of a load. A load is never refused.
    func note(_ request: Request, of type: Model.Type, with engine: Engine) async {
        _ = try? await identity(of: request, for: type, with: engine)
    }

    /// Returns the identity for which a request is sent now.
    ///
    /// - Throws: ``ModelError`` `otherIdentity` if the context has objects of another one. `ConnectionError` if the
    ///   identity cannot be determined.
    func identity(of request: Request, for type: Model.Type, with engine: Engine) async throws -> String? {
        guard engine.mayNameIdentity(of: request) else { return nil }
        let identity = try await engine.identity(of: request)
        let url = try engine.url(of: request)
        let origin = (try? RequestURL(url))?.originText ?? url
        let subject = Subject(type: ObjectIdentifier(type.identityClass), origin: origin)
        let isAdmitted = state.withLock { state in
            let isAdmitted = state.admits(identity, for: subject)
            state.note(isAdmitted ? .admitted(identity) : .refused, of: subject.type)
            return isAdmitted
        }
        guard isAdmitted else { throw ModelError.otherIdentity(type) }
        return identity
    }

    // MARK: The identity of the last call

    /// The number of changes of the identities of the last calls.
    var changes: Int { state.withLock { $0.changes } }

    /// Whether ``isCurrent(_:of:with:)`` knows the identity of a class.
    func isKnown(of type: Model.Type, with engine: Engine) -> Bool {
        if state.withLock({ $0.current[ObjectIdentifier(type.identityClass)] ?? $0.latest }) != nil { return true }
        let request = type.resource ?? Request("")
        return request.identity != nil || !engine.mayNameIdentity(of: request)
    }

    /// Whether the objects of a class are those of an identity, as of the last call. Without an earlier call, an
    /// identity that only a `CredentialProvider` names is not known: then the result is `false`.
    func isCurrent(_ identity: String?, of type: Model.Type, with engine: Engine) -> Bool {
        let (own, latest) = state.withLock { ($0.current[ObjectIdentifier(type.identityClass)], $0.latest) }
        if let own { return own.isExactly(identity) }
        let request = type.resource ?? Request("")
        if request.identity != nil { return request.identity.isExactly(identity) }
        if !engine.mayNameIdentity(of: request) { return identity == nil }
        return latest?.isExactly(identity) ?? false
    }
}

extension ModelError {
    static func otherIdentity(_ type: Model.Type) -> ModelError {
        ModelError(
            .otherIdentity,
            "the \(type) belongs to the identity that was signed in before, so nothing was sent and nothing was "
                + "queued: after a login, drop the models, and load them into a new ModelContext")
    }
}
