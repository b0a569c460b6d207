public import Foundation

/// Whom a transport trusts, and as whom it appears. Certificates and host names are always verified.
public struct TLSSettings: Hashable, Sendable {
    /// A version of TLS.
    public enum Version: String, Hashable, Sendable, CaseIterable {
        case v1_2 = "TLS 1.2"
        case v1_3 = "TLS 1.3"
    }

    /// Who vouches for servers.
    public enum Roots: Hashable, Sendable {
        /// Those that the system trusts.
        case system
        /// Those, and the certificates in a PEM file: of a company, or of a server that vouches for itself.
        case systemAnd(URL)
        /// The certificates in a PEM file, and nobody else.
        case only(URL)
    }

    /// A certificate of our own, for servers that ask for one.
    public struct ClientCertificate: Hashable, Sendable {
        /// A PEM file with it, and behind it those that vouch for it.
        public var certificate: URL
        /// A PEM file.
        public var privateKey: URL
        /// Of the private key; asked of the engine's ``CredentialProvider`` for each exchange, for no identity.
        public var password: Secret?

        /// Both files are PEM.
        public init(certificate: URL, privateKey: URL, password: Secret? = nil) {
            self.certificate = certificate
            self.privateKey = privateKey
            self.password = password
        }
    }

    /// Who vouches for servers; those whom the system trusts by default.
    public var roots = Roots.system
    /// Of servers, and of a proxy that is spoken to over TLS; `nil` for the library's own, which is TLS 1.2 in all that
    /// are maintained.
    public var minimumVersion: Version?
    /// As whom it appears to servers that ask; `nil`, the default, as nobody. A proxy is not told.
    public var clientCertificate: ClientCertificate?
    /// The public keys that a host may have, beside a certificate that is trusted: by its name, in lower case, or its
    /// address (one of IPv6 as RFC 5952 writes it, without brackets), the SHA-256 of its `SubjectPublicKeyInfo` in base64
    /// (RFC 7469 section 2.4). Hosts that are not named may have any. Give one that is not in use yet as well: a server
    /// whose key is lost is not reached any more.
    ///
    /// `openssl x509 -in server.pem -pubkey -noout | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary | base64`
    public var pins: [String: Set<String>] = [:]

    /// The system's roots, the library's versions, no certificate, no pins.
    public init() {}

    /// Why there can be no such settings; `nil` where there can be. Reads the files.
    var refusal: TransportError? {
        for (host, keys) in pins {
            if let address = IPv6Address(host)?.description, address != host {
                return .badSettings("a host of a pin is \(host.printable): write the address as \(address)")
            }
            guard Self.isHost(host) else {
                let form = "its name as on the wire: in lower case, without scheme and port, other alphabets as xn--"
                return .badSettings("a host of a pin is \(host.printable): give \(form)")
            }
            guard !keys.isEmpty, keys.allSatisfy({ Data(base64Encoded: $0)?.count == 32 }) else {
                return .badSettings("a pin of \(host.printable) is no SHA-256: give its 44 characters in base64")
            }
        }
        do throws(TransportError) {
            _ = try rootCertificates()
            if let clientCertificate {
                _ = try Self.pem(clientCertificate.certificate, "CERTIFICATE")
                _ = try Self.pem(clientCertificate.privateKey, "KEY")
            }
        } catch {
            return error
        }
        return nil
    }

    /// Whether a name is as a URL's host is compared: with another, no pin would ever count.
    private static func isHost(_ name: String) -> Bool {
        guard !name.contains(":") else { return IPv6Address(name) != nil }
        let allowed = "abcdefghijklmnopqrstuvwxyz0123456789-_."
        return !name.isEmpty && name.allSatisfy(allowed.contains) && name.last != "." && name.first != "."
    }

    /// The keys that the server of a URL may have; empty for any, `nil` where nobody can tell.
    func pins(for url: String) -> Set<String>? {
        guard !pins.isEmpty else { return [] }
        guard var host = (try? RequestURL(parsing: url))?.host else { return nil }
        if host.hasPrefix("[") { host = String(host.dropFirst().dropLast()) }
        if host.hasSuffix(".") { host.removeLast() }
        return pins[IPv6Address(host)?.description ?? host] ?? []
    }

    /// Those of the app's file, as PEM; `nil` where the system's are all.
    func rootCertificates() throws(TransportError) -> Data? {
        switch roots {
        case .system: nil
        case .systemAnd(let file), .only(let file): try Self.pem(file, "CERTIFICATE")
        }
    }

    private static func pem(_ file: URL, _ kind: String) throws(TransportError) -> Data {
        guard let data = try? Data(contentsOf: file) else {
            throw .badSettings("\(file.path.printable) cannot be read: check the path, and who may read it")
        }
        guard data.firstRange(of: Data("\(kind)-----".utf8)) != nil else {
            throw .badSettings("\(file.path.printable) holds no \(kind.lowercased()) in PEM: convert it with openssl")
        }
        return data
    }
}
