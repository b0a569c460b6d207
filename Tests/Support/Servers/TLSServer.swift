package import Foundation

/// A TLS server: `openssl s_server`, with a self-signed certificate of its own. It runs until its last reference
/// is released.
package final class TLSServer: Sendable {
    /// `https://127.0.0.1:PORT/`
    package let url: String
    private let process: ChildProcess

    /// A certificate for this machine, and its key, in a directory that is deleted with this object.
    package final class Identity: Sendable {
        package let certificate: URL
        package let privateKey: URL
        private let folder = TemporaryFolder()

        /// - Parameter password: the password of the key; `nil` for none.
        package init(password: String? = nil) async throws {
            certificate = folder.url.appending(path: "own.pem")
            privateKey = folder.url.appending(path: "own.key")
            let encryption = password.map { ["-passout", "pass:\($0)"] } ?? ["-nodes"]
            let kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
            let names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"]
            let files = ["-keyout", privateKey.path, "-out", certificate.path]
            try await TLSServer.openssl(["req", "-x509", "-days", "2"] + kind + encryption + names + files)
        }

        /// Returns the public key in PEM.
        package func publicKey() async throws -> String {
            let text = try await TLSServer.openssl(["x509", "-in", certificate.path, "-pubkey", "-noout"])
            return String(decoding: text, as: UTF8.self)
        }
    }

    /// The path of `openssl`; `nil` if there is none.
    // Apple's own is LibreSSL, whose server accepts no address and prints no port.
    package static let executable = ["/opt/homebrew/bin/openssl", "/usr/local/bin/openssl", "/usr/bin/openssl"]
        .first { FileManager.default.isExecutableFile(atPath: $0) }.map { URL(filePath: $0) }

    /// - Parameter options: the options of `openssl s_server`.
    package init(_ identity: Identity, _ options: [String] = []) async throws {
        let output = Pipe()
        let files = ["-cert", identity.certificate.path, "-key", identity.privateKey.path]
        process = try ChildProcess(
            try Self.found(), ["s_server", "-accept", "127.0.0.1:0", "-www"] + files + options,
            output: .pipe(output), errors: .null)
        var said = ""
        while !said.contains(#/ACCEPT \S+:\d+\n/#) {
            let piece = output.fileHandleForReading.availableData
            guard !piece.isEmpty else { throw Missing(description: "openssl s_server has ended: \(said)") }
            said += String(decoding: piece, as: UTF8.self)
        }
        url = "https://127.0.0.1:\(said.firstMatch(of: #/ACCEPT \S+:(\d+)\n/#)?.1 ?? "")/"
    }

    deinit { process.kill() }

    @discardableResult
    private static func openssl(_ arguments: [String]) async throws -> Data {
        try await ChildProcess.output(of: try found(), arguments, errors: .null)
    }

    private static func found() throws -> URL {
        guard let executable else { throw Missing(description: "there is no openssl") }
        return executable
    }

    package struct Missing: Error, CustomStringConvertible { package let description: String }
}
