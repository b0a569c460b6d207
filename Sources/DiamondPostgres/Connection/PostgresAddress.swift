#if Postgres && canImport(CDiamondPostgres)
import CDiamondPostgres
public import Diamond
import DiamondSQLite
import Foundation

/// The address of a PostgreSQL server and its database, with everything that libpq needs to connect.
///
/// ```swift
/// let address = try PostgresAddress("postgresql://queue@db.example.com/app?sslmode=verify-full")
/// ```
///
/// The text is a URL or a list of keywords as libpq has them. Whatever it leaves out comes from libpq's own sources: the
/// environment (`PGHOST`, `PGPASSWORD`), the password file (`~/.pgpass`) and the service file. Descriptions and errors
/// have the host, the port, the database and the user, and never a password.
public struct PostgresAddress: Hashable, Sendable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// The parameters given in the text, by libpq's names.
    package let parameters: [String: String]

    /// - Parameter text: a URL with the scheme `postgresql` or `postgres`, or keywords such as `host=db dbname=app`.
    /// - Throws: `RequestError`: `malformedURL` if libpq does not accept the text. The error does not contain it.
    public init(_ text: String) throws(RequestError) {
        var message: UnsafeMutablePointer<CChar>?
        guard let options = PQconninfoParse(text, &message) else {
            // libpq's message quotes the text, which may contain a password.
            PQfreemem(message)
            throw RequestError(
                .malformedURL,
                "the address of the PostgreSQL server cannot be read: write postgresql://USER@HOST/DATABASE")
        }
        defer { PQconninfoFree(options) }
        var parameters: [String: String] = [:]
        var option = options
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.val { parameters[String(cString: keyword)] = String(cString: value) }
            option += 1
        }
        self.parameters = parameters
    }

    /// Whether the text contains a password. On a command line, other users of the machine can read it.
    public var hasPassword: Bool { Self.secrets.contains { parameters[$0] != nil } }

    static let secrets = ["password", "sslpassword"]

    /// The host, the port, the database and the user, without any password.
    public var description: String {
        let user = parameters["user"].map { "\($0)@" } ?? ""
        let port = parameters["port"].map { ":\($0)" } ?? ""
        let host = parameters["host"] ?? parameters["hostaddr"] ?? parameters["service"] ?? ""
        return "postgresql://\(user)\(host)\(port)/\(parameters["dbname"] ?? "")"
    }

    public var debugDescription: String { description }

    public var customMirror: Mirror { Mirror(self, children: ["address": description]) }

    /// Returns a message of libpq without the passwords of this address.
    func redacted(_ message: String) -> String {
        Self.secrets.compactMap { parameters[$0] }.filter { !$0.isEmpty }
            .reduce(message) { $0.replacingOccurrences(of: $1, with: "***") }
    }
}
#endif
