public import Foundation

/// The certificates that a transport trusts, and its own certificate. Certificates and host names are always verified.
public struct TLSSettings: Hashable, Sendable {
    /// A version of TLS.
    public enum Version: String, Hashable, Sendable, CaseIterable {
        case v1_2 = "TLS 1.2"
        case v1_3 = "TLS 1.3"
    }

    /// The trusted root certificates.
    public enum Roots: Hashable, Sendable {
        /// The system's roots.
        case system
        /// The system's roots, and the certificates in a PEM file: those of a company, or of a server with a
        /// self-signed certificate.
        case systemAnd(URL)
        /// The certificates in a PEM file, and no others.
        case only(URL)
    }

    /// A client certificate, for servers that request one.
    public struct ClientCertificate: Hashable, Sendable {
        /// A PEM file with the certificate, followed by its intermediate certificates.
        public var certificate: URL
        /// A PEM file with the private key.
        public var privateKey: URL
        /// The password of the private key. It is requested from the engine's ``CredentialProvider`` for each exchange,
        /// without an identity.
        public var password: Secret?

        /// Creates a client certificate from two PEM files.
        public init(certificate: URL, privateKey: URL, password: Secret? = nil) {
            self.certificate = certificate
            self.privateKey = privateKey
            self.password = password
        }
    }

    /// The trusted root certificates; the system's by default.
    public var roots = Roots.system
    /// The minimum TLS version for servers, and for a proxy over TLS. `nil`, the default, is TLS 1.2 (RFC 8996).
    /// ``URLSessionTransport`` on Linux cannot limit it.
    public var minimumVersion: Version?
    /// The certificate for servers that request one; `nil`, the default, sends none. It is never sent to a proxy.
    public var clientCertificate: ClientCertificate?
    /// The public keys that a host may have, in addition to the requirement that its certificate is trusted.
    ///
    /// A key of the dictionary is the host's name in lower case, or its address (an IPv6 address as RFC 5952 writes it,
    /// without brackets). A value is the SHA-256 of the host's `SubjectPublicKeyInfo` in base64 (RFC 7469 section 2.4).
    /// Hosts that are not named may have any key. Also give a key that is not in use yet: a server whose only pinned
    /// key is lost cannot be reached any more.
    ///
    /// `openssl x509 -in server.pem -pubkey -noout | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary |
    /// base64`
    public var pins: [String: Set<String>] = [:]

    /// Creates settings with the system's roots, TLS 1.2 or later, no certificate and no pins.
    public init() {}

    /// The error for settings that cannot be applied; `nil` for valid ones. It reads the files.
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
                _ = try Self.pem(clientCertificate.certificate, kind: "CERTIFICATE")
                _ = try Self.pem(clientCertificate.privateKey, kind: "KEY")
            }
        } catch {
            return error
        }
        return nil
    }

    /// Whether a name has the normal form of a URL's host. A pin for any other name would never apply.
    private static func isHost(_ name: String) -> Bool {
        guard !name.contains(":") else { return IPv6Address(name) != nil }
        let allowed = "abcdefghijklmnopqrstuvwxyz0123456789-_."
        return !name.isEmpty && name.allSatisfy(allowed.contains) && name.last != "." && name.first != "."
    }

    /// Returns the allowed keys of a URL's server: an empty set allows any key, `nil` means that the URL cannot be
    /// parsed.
    func pins(for url: String) -> Set<String>? {
        guard !pins.isEmpty else { return [] }
        guard var host = (try? RequestURL(parsing: url))?.host else { return nil }
        if host.hasPrefix("[") { host = String(host.dropFirst().dropLast()) }
        if host.hasSuffix(".") { host.removeLast() }
        return pins[IPv6Address(host)?.description ?? host] ?? []
    }

    /// Returns the app's root certificates as PEM; `nil` if only the system's are used.
    func rootCertificates() throws(TransportError) -> Data? {
        switch roots {
        case .system: nil
        case .systemAnd(let file), .only(let file): try Self.pem(file, kind: "CERTIFICATE")
        }
    }

    private static func pem(_ file: URL, kind: String) throws(TransportError) -> Data {
        guard let data = try? Data(contentsOf: file) else {
            throw .badSettings("\(file.path.printable) cannot be read: check the path, and who may read it")
        }
        guard data.firstRange(of: Data("\(kind)-----".utf8)) != nil else {
            throw .badSettings("\(file.path.printable) holds no \(kind.lowercased()) in PEM: convert it with openssl")
        }
        return data
    }
}
