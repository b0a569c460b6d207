#if Valkey
import Foundation

/// The address of a server, with the password and the options of its URL:
/// `valkey://user:password@host:6379/0?prefix=app`.
///
/// Schemes are `valkey` and `redis`, `valkeys` and `rediss` over TLS, and `valkey+unix` and `redis+unix` with the path
/// of a socket. The path of the others is the number of the database. Parameters:
///
/// - `prefix` begins every key, so that programs can share a database; `diamond` by default.
/// - `db` is the number of the database over a Unix socket.
/// - `ca` is the path of a file with the certificates that sign the server's; the system's by default.
///
/// Descriptions have no password.
package struct ValkeyAddress: Sendable, Hashable {
    package enum Target: Sendable, Hashable {
        case tcp(host: String, port: Int)
        case unix(path: String)
    }

    package let target: Target
    package let usesTLS: Bool
    package let database: Int
    package let prefix: String
    /// The path of the certificates that sign the server's; `nil` for the system's.
    package let certificates: String?
    let user: String?
    let password: String?

    /// - Throws: `badAddress`. The message has no part of the URL: a password with an unescaped character may be
    ///   anywhere in it.
    package init(_ url: String) throws(ValkeyError) {
        guard let parts = URLComponents(string: url), let scheme = parts.scheme?.lowercased() else {
            throw Self.error("is no URL")
        }
        guard parts.fragment == nil else { throw Self.error("has a fragment: write # in a password as %23") }
        let isUnix = scheme == "valkey+unix" || scheme == "redis+unix"
        guard isUnix || ["valkey", "redis", "valkeys", "rediss"].contains(scheme) else {
            throw Self.error("has another scheme than valkey, valkeys, redis, rediss, valkey+unix or redis+unix")
        }
        let options = try Self.options(of: parts)
        usesTLS = scheme == "valkeys" || scheme == "rediss"
        user = parts.user.flatMap { $0.isEmpty ? nil : $0 }
        password = parts.password.flatMap { $0.isEmpty ? nil : $0 }
        prefix = options["prefix"] ?? "diamond"
        certificates = options["ca"]
        guard !prefix.isEmpty, prefix.allSatisfy(Self.isNameCharacter) else {
            throw Self.error("has a prefix with other characters than letters, digits, '-', '_', '.' and ':'")
        }
        guard user == nil || password != nil else { throw Self.error("has a user without a password") }
        if isUnix {
            guard parts.path.hasPrefix("/"), (parts.host ?? "").isEmpty else {
                throw Self.error("has no absolute path: write valkey+unix:///path/of/socket")
            }
            target = .unix(path: parts.path)
            database = try Self.number(options["db"] ?? "")
        } else {
            guard let host = parts.host, !host.isEmpty else { throw Self.error("has no host") }
            guard options["db"] == nil else { throw Self.error("has the database twice: write it as the path") }
            let port = parts.port ?? 6379
            guard (1...65535).contains(port) else { throw Self.error("has a port beyond 65535") }
            target = .tcp(host: host.trimmingCharacters(in: ["[", "]"]), port: port)
            database = try Self.number(String(parts.path.dropFirst()))
        }
    }

    private static func options(of parts: URLComponents) throws(ValkeyError) -> [String: String] {
        var options: [String: String] = [:]
        for item in parts.queryItems ?? [] {
            guard ["prefix", "db", "ca"].contains(item.name), options[item.name] == nil, let value = item.value else {
                throw error("has another parameter than prefix, db and ca, or one of them twice")
            }
            options[item.name] = value
        }
        return options
    }

    private static func number(_ text: String) throws(ValkeyError) -> Int {
        if text.isEmpty { return 0 }
        guard text.utf8.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains), let number = Int(text) else {
            throw error("has a database that is no number")
        }
        return number
    }

    private static func isNameCharacter(_ character: Character) -> Bool {
        character.isASCII && (character.isLetter || character.isNumber || "-_.:".contains(character))
    }

    private static func error(_ problem: String) -> ValkeyError {
        ValkeyError(.badAddress, "the address of the cache's server \(problem)")
    }
}

extension ValkeyAddress: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The URL without user, password and parameters.
    package var description: String {
        switch target {
        case .tcp(let host, let port):
            "\(usesTLS ? "valkeys" : "valkey")://\(host.contains(":") ? "[\(host)]" : host):\(port)/\(database)"
        case .unix(let path): "valkey+unix://\(path)"
        }
    }

    package var debugDescription: String { description }

    package var customMirror: Mirror { Mirror(self, children: ["url": description]) }
}
#endif
