#if Tools
import Diamond
import DiamondSQLite

/// The secrets that let one browser in: a token in the first URL, and then a cookie.
final class Session: Sendable {
    /// The port, once the server listens. Cookies do not know ports, so that each server has its own name.
    private let port = Guarded(0)
    private let token = Guarded<String?>(Session.secret())
    private let cookie = Session.secret()

    /// Returns the URL to open, with the token.
    func start(port number: Int) -> String {
        port.withLock { $0 = number }
        return "http://127.0.0.1:\(number)/?token=\(token.withLock { $0 } ?? "")"
    }

    /// The name of the cookie.
    var name: String { "cachectl-\(port.withLock { $0 })" }

    /// Whether an authority is that of this server. Another name may be that of a foreign page, which has made it an
    /// address of this machine (DNS rebinding).
    func isOwn(_ authority: String?) -> Bool {
        let port = port.withLock { $0 }
        return ["127.0.0.1:\(port)", "localhost:\(port)"].contains(authority?.lowercased())
    }

    /// Returns the value of the cookie for the right token. The token then counts no more.
    func redeem(_ text: String) -> String? {
        token.withLock { token in
            guard let expected = token, Self.areEqual(text, expected) else { return nil }
            token = nil
            return cookie
        }
    }

    func accepts(cookie text: String) -> Bool { Self.areEqual(text, cookie) }

    /// Returns 256 random bits as text.
    private static func secret() -> String { Hex.text(of: (0..<32).map { _ in UInt8.random(in: .min ... .max) }) }

    /// Compares texts in a time that does not depend on the place of the first difference.
    private static func areEqual(_ one: String, _ other: String) -> Bool {
        let (one, other) = (Array(one.utf8), Array(other.utf8))
        guard one.count == other.count else { return false }
        return zip(one, other).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
#endif
