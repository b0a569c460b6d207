import Diamond
import Foundation
import Synchronization

/// The signed-in user and the token, in memory and in a file that only its owner can read.
nonisolated final class Session: CredentialProvider {
    /// The name of the token in requests.
    static let token = Secret.secret("token")

    nonisolated private struct Grant: Codable {
        let user: String
        let token: String
    }

    private let file: URL
    private let grant: Mutex<Grant?>

    /// Reads the session that an earlier process has saved.
    init(file: URL) {
        self.file = file
        grant = Mutex((try? Data(contentsOf: file)).flatMap { try? JSONDecoder().decode(Grant.self, from: $0) })
    }

    var user: String? { grant.withLock { $0?.user } }

    func identity(for request: Request) -> String? { user }

    func secret(_ name: String, for identity: String?) -> String? {
        grant.withLock { grant in
            name == Self.token.name && identity == grant?.user ? grant?.token : nil
        }
    }

    /// Signs a user in, until the process ends.
    func begin(_ login: Login.Output) { grant.withLock { $0 = Grant(user: login.user, token: login.token) } }

    /// Keeps the session for later processes.
    func save() throws {
        try file.writePrivately(try JSONEncoder().encode(grant.withLock { $0 }))
    }

    /// Signs the user out.
    func end() throws {
        grant.withLock { $0 = nil }
        if FileManager.default.fileExists(atPath: file.path) { try FileManager.default.removeItem(at: file) }
    }
}

nonisolated extension URL {
    /// Writes a file that only its owner can read.
    func writePrivately(_ data: Data) throws {
        try FileManager.default.createDirectory(
            at: deletingLastPathComponent(), withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        // The file has these permissions before it has content.
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Failure("\(path) cannot be written") }
        try FileHandle(fileDescriptor: descriptor, closeOnDealloc: true).write(contentsOf: data)
    }

    /// Returns the key in the file. If there is none, creates it.
    func key() throws -> Data {
        if let key = try? Data(contentsOf: self) { return key }
        var random = SystemRandomNumberGenerator()
        let key = Data((0..<32).map { _ in UInt8.random(in: .min ... .max, using: &random) })
        try writePrivately(key)
        return key
    }
}
