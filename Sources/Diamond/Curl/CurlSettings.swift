#if Curl && canImport(CDiamondCurl)
import CDiamondCurl
import Foundation

/// The settings of a transport in libcurl's form.
struct CurlSettings: Sendable {
    let settings: TransportSettings
    /// The root certificates in PEM; `nil` for the system's alone.
    private let roots: Data?

    static let standard = CurlSettings(settings: TransportSettings(), roots: nil)
}

extension CurlSettings {
    /// Creates settings, and checks that libcurl supports them.
    ///
    /// - Throws: `badSettings` for settings that cannot be applied.
    init(_ settings: TransportSettings) throws(TransportError) {
        if case .through(let proxy) = settings.proxy, let refusal = proxy.refusal { throw refusal }
        if let refusal = settings.tls.refusal { throw refusal }
        _ = CurlSession.isLibraryReady
        guard let easy = curl_easy_init() else { throw CurlFailure.noMemory }
        defer { curl_easy_cleanup(easy) }
        let own = try settings.tls.rootCertificates()
        self.init(
            settings: settings,
            roots: try own.map { own throws(TransportError) in try Self.combined(own, settings: settings, easy: easy) })
        // Applied once here, so that nothing is sent if libcurl does not support a setting.
        guard [apply(to: easy), apply(settings.tls.pins.values.first ?? [], to: easy)] == [CURLE_OK, CURLE_OK] else {
            throw .badSettings("libcurl was built without support for them: see `curl --version`")
        }
    }

    // libcurl accepts one file, or one text, with all certificates.
    private static func combined(
        _ own: Data,
        settings: TransportSettings,
        easy: UnsafeMutableRawPointer
    ) throws(TransportError) -> Data {
        guard case .systemAnd = settings.tls.roots else { return own }
        guard let system = systemRoots(easy) else {
            throw .badSettings(
                "the system's file of trusted certificates was not found: name a file with all of them")
        }
        return system + Data("\n".utf8) + own
    }

    /// Returns the roots from the path that libcurl was built with, or from the usual paths of distributions.
    private static func systemRoots(_ easy: UnsafeMutableRawPointer) -> Data? {
        let usual = ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"]
        let paths = (diamond_curl_default_roots(easy).map { [String(cString: $0)] } ?? []) + usual
        return paths.lazy.compactMap { try? Data(contentsOf: URL(filePath: $0)) }.first
    }

    // MARK: Settings of the transport

    /// Applies the settings that never change.
    ///
    /// - Returns: The first error; `CURLE_OK` if libcurl supports all of them.
    @discardableResult
    func apply(to easy: UnsafeMutableRawPointer) -> CURLcode {
        (proxyResults(easy) + tlsResults(easy)).first { $0 != CURLE_OK } ?? CURLE_OK
    }

    private func proxyResults(_ easy: UnsafeMutableRawPointer) -> [CURLcode] {
        switch settings.proxy {
        case .system: []
        // With an empty proxy libcurl ignores the environment.
        case .none: [diamond_curl_set_text(easy, CURLOPT_PROXY, "")]
        case .through(let proxy):
            [
                diamond_curl_set_text(easy, CURLOPT_PROXY, proxy.url),
                diamond_curl_set_text(easy, CURLOPT_NOPROXY, proxy.exceptions.joined(separator: ",")),
                diamond_curl_set_text(easy, CURLOPT_PROXYUSERNAME, proxy.username),
            ]
        }
    }

    private func tlsResults(_ easy: UnsafeMutableRawPointer) -> [CURLcode] {
        var results: [CURLcode] = []
        // Not libcurl's own minimum, which may be TLS 1.0 (RFC 8996).
        let version = (settings.tls.minimumVersion ?? .v1_2).curl
        results.append(diamond_curl_set_long(easy, CURLOPT_SSLVERSION, version))
        // The environment may name a proxy over TLS, too.
        if settings.proxy != .none {
            results.append(diamond_curl_set_long(easy, CURLOPT_PROXY_SSLVERSION, version))
        }
        if let own = settings.tls.clientCertificate {
            results.append(diamond_curl_set_text(easy, CURLOPT_SSLCERT, own.certificate.path))
            results.append(diamond_curl_set_text(easy, CURLOPT_SSLKEY, own.privateKey.path))
        }
        if let roots {
            results.append(roots.withUnsafeBytes { diamond_curl_set_roots(easy, $0.baseAddress, $0.count) })
        }
        return results
    }

    // MARK: Settings of a request

    func apply(_ passwords: TransportPasswords, to easy: UnsafeMutableRawPointer) {
        if let password = passwords.proxy { diamond_curl_set_text(easy, CURLOPT_PROXYPASSWORD, password) }
        if let password = passwords.privateKey { diamond_curl_set_text(easy, CURLOPT_KEYPASSWD, password) }
    }

    /// Applies the public keys that the host of a URL may have.
    func applyPins(for url: String, to easy: UnsafeMutableRawPointer) {
        guard !settings.tls.pins.isEmpty else { return }
        // If the host cannot be determined, the digest is one that no key has, so that the connection fails.
        apply(settings.tls.pins(for: url) ?? [Data(count: 32).base64EncodedString()], to: easy)
    }

    @discardableResult
    private func apply(_ keys: Set<String>, to easy: UnsafeMutableRawPointer) -> CURLcode {
        let text = keys.sorted().map { "sha256//\($0)" }.joined(separator: ";")
        return diamond_curl_set_text(easy, CURLOPT_PINNEDPUBLICKEY, keys.isEmpty ? nil : text)
    }
}

extension TLSSettings.Version {
    fileprivate var curl: Int {
        switch self {
        case .v1_2: Int(CURL_SSLVERSION_TLSv1_2)
        case .v1_3: Int(CURL_SSLVERSION_TLSv1_3)
        }
    }
}
#endif
