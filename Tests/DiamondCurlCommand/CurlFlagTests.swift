import Diamond
import Testing

@testable import DiamondCurlCommand

@Suite("An option of curl") struct CurlFlagTests {
    /// The options that `curl --help all` of 7.88 lists, and those of later versions in the manual.
    static let all = """
         abstract-unix-socket alt-svc anyauth append aws-sigv4 basic ca-native cacert capath cert cert-status
         cert-type ciphers compressed compressed-ssh config connect-timeout connect-to continue-at cookie
         cookie-jar create-dirs create-file-mode crlf crlfile curves data data-ascii data-binary data-raw
         data-urlencode delegation digest disable disable-eprt disable-epsv disallow-username-in-url dns-interface
         dns-ipv4-addr dns-ipv6-addr dns-servers doh-cert-status doh-insecure doh-url dump-ca-embed dump-header ech
         egd-file engine etag-compare etag-save expand-data expect100-timeout fail fail-early fail-with-body
         false-start follow form form-escape form-string ftp-account ftp-alternative-to-user ftp-create-dirs
         ftp-method ftp-pasv ftp-port ftp-pret ftp-skip-pasv-ip ftp-ssl-ccc ftp-ssl-ccc-mode ftp-ssl-control
         ftp-ssl-reqd get globoff happy-eyeballs-timeout-ms haproxy-clientip haproxy-protocol head header help
         hostpubmd5 hostpubsha256 hsts http0.9 http1.0 http1.1 http2 http2-prior-knowledge http3 http3-only
         ignore-content-length include insecure interface ip-tos ipfs-gateway ipv4 ipv6 json junk-session-cookies
         keepalive-cnt keepalive-time key key-type knownhosts krb libcurl limit-rate list-only local-port location
         location-trusted login-options mail-auth mail-from mail-rcpt mail-rcpt-allowfails manual max-filesize
         max-redirs max-time metalink mptcp negotiate netrc netrc-file netrc-optional next no-alpn no-buffer
         no-clobber no-compressed no-get no-keepalive no-location no-npn no-progress-meter no-sessionid noproxy
         ntlm ntlm-wb oauth2-bearer out-null output output-dir parallel parallel-immediate parallel-max
         parallel-max-host pass path-as-is pinnedpubkey post301 post302 post303 preproxy progress-bar proto
         proto-default proto-redir proxy proxy-anyauth proxy-basic proxy-ca-native proxy-cacert proxy-capath
         proxy-cert proxy-cert-type proxy-ciphers proxy-crlfile proxy-digest proxy-header proxy-http2
         proxy-insecure proxy-key proxy-key-type proxy-negotiate proxy-ntlm proxy-pass proxy-pinnedpubkey
         proxy-service-name proxy-ssl-allow-beast proxy-ssl-auto-client-cert proxy-tls13-ciphers proxy-tlsauthtype
         proxy-tlspassword proxy-tlsuser proxy-tlsv1 proxy-user proxy1.0 proxytunnel pubkey quote random-file range
         rate raw referer remote-header-name remote-name remote-name-all remote-time remove-on-error request
         request-target resolve retry retry-all-errors retry-connrefused retry-delay retry-max-time sasl-authzid
         sasl-ir service-name show-error show-headers sigalgs silent skip-existing socks4 socks4a socks5
         socks5-basic socks5-gssapi socks5-gssapi-nec socks5-gssapi-service socks5-hostname speed-limit speed-time
         ssl ssl-allow-beast ssl-auto-client-cert ssl-no-revoke ssl-reqd ssl-revoke-best-effort sslv2 sslv3 stderr
         styled-output suppress-connect-headers tcp-fastopen tcp-nodelay telnet-option tftp-blksize tftp-no-options
         time-cond tls-earlydata tls-max tls13-ciphers tlsauthtype tlspassword tlsuser tlsv1 tlsv1.0 tlsv1.1
         tlsv1.2 tlsv1.3 tr-encoding trace trace-ascii trace-config trace-ids trace-time unix-socket upload-file
         upload-flags url url-query use-ascii user user-agent variable verbose version vlan-priority write-out
         xattr
        """.split(whereSeparator: \.isWhitespace).map(String.init)

    /// The options that become a part of the request. Each has a test of its own.
    static let honored: Set = [
        "url", "request", "header", "json", "get", "head", "user", "user-agent", "referer", "cookie", "max-time",
        "globoff", "data", "data-ascii", "data-raw", "data-binary", "data-urlencode", "form", "form-string",
        "path-as-is",
    ]

    /// The options that do not change the request.
    static let ignored: Set = [
        "basic", "compressed", "connect-timeout", "cookie-jar", "create-dirs", "create-file-mode", "dump-header",
        "etag-save", "expect100-timeout", "fail", "fail-early", "fail-with-body", "happy-eyeballs-timeout-ms",
        "http1.1",
        "http2", "http3", "include", "keepalive-cnt", "keepalive-time", "libcurl", "limit-rate", "location",
        "no-buffer",
        "no-clobber", "no-keepalive", "no-progress-meter", "no-sessionid", "output", "output-dir", "parallel",
        "parallel-immediate", "parallel-max", "parallel-max-host", "progress-bar", "rate", "remote-header-name",
        "remote-name", "remote-name-all", "remote-time", "remove-on-error", "retry", "retry-all-errors",
        "retry-connrefused", "retry-delay", "retry-max-time", "show-error", "show-headers", "silent", "skip-existing",
        "speed-limit", "speed-time", "stderr", "styled-output", "suppress-connect-headers", "tcp-nodelay", "trace",
        "trace-ascii", "trace-config", "trace-ids", "trace-time", "verbose", "write-out", "xattr",
    ]

    @Test(arguments: all) func `is honored, ignored, or refused with an error that names it`(name: String) throws {
        guard let flag = CurlFlag.long[name], flag != .ignored, flag != .ignoredValue else {
            return try checkUnhonored(name)
        }
        guard case .refused(let reason) = flag else { return #expect(Self.honored.contains(name)) }
        #expect(reason.contains("--\(name)"))
    }

    private func checkUnhonored(_ name: String) throws {
        let value = CurlFlag.long[name] == .ignoredValue ? "1 " : ""
        guard Self.ignored.contains(name) else {
            let error = #expect(throws: RequestError.self) { try Request(curl: "curl --\(name) 1 http://h/") }
            #expect(error?.message.contains("--\(name)") == true)
            return
        }
        #expect(try Request(curl: "curl --\(name) \(value)http://h/") == Request("http://h/"))
    }

    @Test(arguments: [
        "#", "N", "O", "J", "R", "Z", "L", "s", "S", "i", "v", "f", "D x", "c x", "w x", "y 1", "Y 1", "o x",
    ])
    func `is ignored in its short form if it does not change the request`(option: String) throws {
        #expect(try Request(curl: "curl -\(option) http://h/") == Request("http://h/"))
    }

    @Test(arguments: Array("0123467:aBCEhjKlMnPpQqrTtUVxz"))
    func `is refused in its short form with an error that names it`(
        letter: Character
    ) {
        let error = #expect(throws: RequestError.self) { try Request(curl: "curl -\(letter) http://h/") }
        #expect(error?.message.contains("-\(letter) is unknown") == true)
    }
}
