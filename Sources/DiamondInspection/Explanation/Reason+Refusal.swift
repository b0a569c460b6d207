import Diamond
import HTTPTypes

/// The refusal to store a response.
extension Reason {
    /// - Parameter unkeyed: the reason why the request has no key.
    init(
        _ refusal: StoreRefusal,
        of response: Response,
        to request: Request,
        unkeyed: Reason,
        targets: [HTTPField.Name]
    ) {
        let headers = response.headers
        let control = DecidingField.control(in: headers, targets: targets)
        let vary = DecidingField.response(.vary, in: headers)
        self =
            switch refusal {
            case .noCache: Self("store", "the engine has no cache")
            case .request: unkeyed
            case .method:
                Self("RFC 9111 section 3", "responses to \(request.method.rawValue) are not stored")
            case .status: Self.status(response.status.code, control: control)
            case .coding:
                Self(
                    "coding", "the body is coded, and bodies are stored decoded",
                    DecidingField.response(.contentEncoding, in: headers))
            case .mustUnderstand:
                Self("RFC 9111 section 5.2.2.3", "the cache does not understand the status", control)
            case .noStore: Self("RFC 9111 section 5.2.2.5", "the response has no-store", control)
            case .isPrivate:
                Self("RFC 9111 section 5.2.2.7", "the response is private, and the cache is shared", control)
            case .authorization:
                Self(
                    "RFC 9111 section 3.5",
                    "the request has Authorization, and the response neither public, s-maxage nor must-revalidate",
                    control ?? "request Authorization")
            case .credentials:
                Self(
                    "credentials",
                    "the request has a credential, the cache is shared, and the response has no lifetime above zero",
                    control)
            case .vary:
                Self(
                    "RFC 9111 section 4.1",
                    headers[values: .vary].contains { $0.contains("*") }
                        ? "Vary is *" : "Vary names a field whose sent value is unknown", vary)
            case .setCookie:
                Self(
                    "RFC 9111 section 7.3",
                    "the response sets a cookie without an explicit lifetime, and the cache is shared",
                    DecidingField.response(.setCookie, in: headers))
            case .secret:
                Self(
                    "secret", "a field that leads to another URL has a secret, which is not written",
                    [HTTPField.Name.location, .link].lazy.compactMap { DecidingField.response($0, in: headers) }.first)
            case .tooLarge:
                Self(
                    "capacity", "the body is larger than a quarter of the store's limit",
                    DecidingField.response(.contentLength, in: headers))
            case .serverError:
                Self("RFC 9111 section 4.3.3", "a server error does not replace the stored response")
            }
    }

    private static func status(_ code: Int, control: String?) -> Self {
        switch code {
        case 206: Self("RFC 9111 section 3.3", "a part is stored only with a strong validator and a Content-Range")
        case 304, 412, 416:
            Self("RFC 9111 section 3", "the status \(code) answers the request's own condition or range")
        case 428, 429, 431, 511: Self("RFC 6585", "the status \(code) is not stored")
        default:
            Self("RFC 9111 section 3", "the status \(code) is stored only with an explicit lifetime", control)
        }
    }
}
