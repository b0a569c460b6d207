#if Curl && canImport(CDiamondCurl)
import CDiamondCurl
import Foundation

/// An easy handle of libcurl, used for one exchange after another.
///
/// The options that never change are set once. A request's options are set only if they differ from those of the
/// previous request: most requests differ only in the URL.
final class CurlHandle {
    let easy: UnsafeMutableRawPointer
    var names = CurlNameCache()
    private let settings: CurlSettings
    private var setup: CurlSetup?
    private var fields: UnsafeMutablePointer<curl_slist>?
    /// Whether the next connection is a new one.
    var connectsAnew = false { didSet { set(CURLOPT_FRESH_CONNECT, connectsAnew, from: oldValue) } }
    /// Whether the connection is closed after the exchange.
    var closesConnection = false { didSet { set(CURLOPT_FORBID_REUSE, closesConnection, from: oldValue) } }
    /// Whether libcurl reports messages and the bytes of the connection.
    var watchesConnection = false { didSet { set(CURLOPT_VERBOSE, watchesConnection, from: oldValue) } }
    private let message = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))

    /// Creates a handle; `nil` if memory is exhausted.
    init?(_ settings: CurlSettings) {
        guard let easy = curl_easy_init() else { return nil }
        self.easy = easy
        self.settings = settings
        message.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        diamond_curl_set_pointer(easy, CURLOPT_ERRORBUFFER, message)
        diamond_curl_set_long(easy, CURLOPT_NOSIGNAL, 1)
        diamond_curl_set_long(easy, CURLOPT_FOLLOWLOCATION, 0)
        diamond_curl_set_long(easy, CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2TLS))
        diamond_curl_set_long(easy, CURLOPT_PATH_AS_IS, 1)
        diamond_curl_set_long(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        diamond_curl_only_http(easy)
        diamond_curl_quick_exit(easy)
        CurlCallbacks.install(on: easy)
        settings.apply(to: easy)
    }

    deinit {
        curl_easy_cleanup(easy)
        curl_slist_free_all(fields)
        message.deallocate()
    }

    /// libcurl's message for a failure. It differs between versions and may contain data of the server, so it is not
    /// shown to users.
    var reason: String { String(cString: message) }

    /// Sets up a request. The callbacks receive `context`.
    func prepare(
        _ request: TransportRequest,
        passwords: TransportPasswords,
        context: UnsafeMutableRawPointer
    ) {
        diamond_curl_set_text(easy, CURLOPT_URL, request.url)
        diamond_curl_set_text(easy, CURLOPT_REQUEST_TARGET, request.target)
        settings.apply(passwords, to: easy)
        settings.applyPins(for: request.url, to: easy)
        diamond_curl_set_context(easy, context)
        let setup = CurlSetup(request)
        connectsAnew = setup.connectsAnew
        closesConnection = false
        watchesConnection = false
        guard !setup.isSame(as: self.setup) else { return }
        let fields = setup.apply(to: easy)
        curl_slist_free_all(self.fields)
        self.setup = setup
        self.fields = fields
    }

    /// Forgets the transfer, which may be freed while the handle is idle. Call it after the handle has left the
    /// session.
    func forgetTransfer() {
        watchesConnection = false
        diamond_curl_set_context(easy, nil)
    }

    private func set(_ option: CURLoption, _ value: Bool, from old: Bool) {
        if value != old { diamond_curl_set_long(easy, option, value ? 1 : 0) }
    }
}
#endif
