import Foundation

/// The body of `POST /login`.
struct Credentials: Decodable, Sendable {
    let user: String
    let password: String
    /// The lifetime of the token in seconds; an hour by default.
    let expiresIn: Int?
}

/// The answer to `POST /login`.
struct Session: Encodable, Sendable {
    let token: String
    let user: String
    let expiresIn: Int
}

/// The answer to `GET /me`.
struct User: Encodable, Sendable {
    let name: String
}

/// The tokens that were given out. Every user has the password `diamond`.
actor SessionStore {
    private struct Grant {
        let user: User
        let end: ContinuousClock.Instant
    }

    private var grants: [String: Grant] = [:]

    func login(_ credentials: Credentials) throws(Problem) -> Session {
        guard !credentials.user.isEmpty else { throw .invalid("user", "must not be empty") }
        guard credentials.password == "diamond" else {
            throw Problem(code: 403, detail: "The password is wrong: it is \"diamond\".", parameter: "password")
        }
        let lifetime = credentials.expiresIn ?? 3600
        guard (1...86_400).contains(lifetime) else { throw .invalid("expiresIn", "must be from 1 to 86400") }
        let session = Session(token: UUID().uuidString, user: credentials.user, expiresIn: lifetime)
        grants[session.token] = Grant(user: User(name: session.user), end: .now + .seconds(lifetime))
        return session
    }

    /// Returns the user of a token; `nil` if it was not given out, has expired, or was given back.
    func user(of token: String) -> User? {
        guard let grant = grants[token], grant.end > .now else { return nil }
        return grant.user
    }

    func logout(_ token: String) { grants[token] = nil }
}
