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

    struct State: Sendable {
        private var owners: [String: String] = [:]
        /// The subjects that had an identity.
        private var owned: Set<Subject> = []

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
    }

    private let state = Guarded(State())

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
        guard state.withLock({ $0.admits(identity, for: subject) }) else { throw ModelError.otherIdentity(type) }
        return identity
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
