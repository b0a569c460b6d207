import Foundation
import HTTPTypes

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// A translator of Foundation's responses and errors into the transport's.
enum URLSessionResponse {
    /// The head of a response.
    struct Head {
        let status: HTTPResponse.Status
        let headers: HTTPFields
    }

    /// Returns the head; `nil` if a field has an invalid name. It must not be dropped, because it may forbid the
    /// storage.
    static func head(of response: HTTPURLResponse) -> Head? {
        var headers = HTTPFields()
        for (name, value) in response.allHeaderFields {
            guard let name = HTTPField.Name(trimmed("\(name)")) else { return nil }
            let values = name == .setCookie ? SetCookieFields.separated("\(value)") : ["\(value)"]
            for value in values { headers.appendReceived(HTTPField(name: name, value: value)) }
        }
        headers.removeVoidLength(status: response.statusCode)
        if isDecoded(headers) { headers = headers.withoutCoding }
        return Head(status: HTTPResponse.Status(code: response.statusCode), headers: headers)
    }

    // A blank before the colon is removed (RFC 9112 section 5.1).
    private static func trimmed(_ name: String) -> String { name.trimmingCharacters(in: .whitespaces) }

    /// Whether Foundation removes the coding of the body.
    private static func isDecoded(_ headers: HTTPFields) -> Bool {
        ContentCoding.known(in: headers) != nil || headers[.contentEncoding]?.lowercased() == "br"
    }

    /// Returns the error for a body that cannot be read; `nil` for any other.
    static func refusal(of response: HTTPURLResponse, headers: HTTPFields) -> TransportError? {
        if headers.hasUnrequestedTransferCoding {
            return .badResponse("the server sent a transfer coding that was not requested")
        }
        #if canImport(FoundationNetworking)
        let coding = response.value(forHTTPHeaderField: "Content-Encoding") ?? ""
        let isEmpty = response.value(forHTTPHeaderField: "Content-Length") == "0"
        guard !isEmpty, !coding.listElements.allSatisfy(["", "identity", "none"].contains) else { return nil }
        let name = "Content-Encoding \(String(coding.prefix(40)).printable)"
        let message =
            "the server sent a body with \(name), whose end URLSession does not report on Linux: "
            + "have it send the coding identity, or use the transport over libcurl"
        return TransportError(.badResponse, message, serverMayHaveActed: true)
        #else
        return nil
        #endif
    }

    static func failure(_ error: any Error) -> TransportError {
        guard let error = error as? URLError else {
            return TransportError(
                .other, "URLSession failed: see the cause", serverMayHaveActed: true, cause: error)
        }
        let meaning = meaning(error.code)
        return TransportError(meaning.code, meaning.message, serverMayHaveActed: meaning.mayHaveBeenSent)
    }

    private static func meaning(
        _ code: URLError.Code
    ) -> (code: TransportError.Code, message: String, mayHaveBeenSent: Bool) {
        switch code {
        case .cancelled: (.cancelled, "the request was canceled", true)
        case .timedOut: (.timedOut, "no answer in time: try again, or allow more time", true)
        case .badURL: (.badURL, "the URL cannot be sent: give an http or https URL", false)
        case .appTransportSecurityRequiresSecureConnection:
            (.badURL, "App Transport Security wants https: give an https URL, or make an exception for the host", false)
        case .dataLengthExceedsMaximum:
            (
                .badRequestBody, "URLSession sends no body with GET: use another method, or the transport over libcurl",
                false
            )
        case .cannotFindHost, .dnsLookupFailed:
            (.cannotResolveHost, "the name cannot be resolved: check it, and the network", false)
        case .cannotConnectToHost, .notConnectedToInternet, .internationalRoamingOff, .callIsActive, .dataNotAllowed:
            (.cannotConnect, "the connection is refused or the host unreachable: check that the server runs", false)
        case .secureConnectionFailed:
            (.tlsFailed, "TLS failed: try again, or check what the server offers", false)
        case .serverCertificateUntrusted, .serverCertificateHasBadDate, .serverCertificateHasUnknownRoot,
            .serverCertificateNotYetValid, .clientCertificateRejected, .clientCertificateRequired:
            (.certificateRejected, "TLS failed: check certificate, name and date", false)
        // The URL's scheme is http or https, so the server speaks another protocol.
        case .unsupportedURL, .cannotDecodeContentData, .cannotDecodeRawData, .cannotParseResponse:
            (.badResponse, "the server's answer is not valid HTTP: check that it speaks HTTP", true)
        default: (.connectionLost, "the connection broke: try again", true)
        }
    }
}

/// A splitter of `Set-Cookie` fields that Foundation has joined with commas. Dates contain commas, too.
enum SetCookieFields {
    static func separated(_ joined: String) -> [String] {
        var fields: [Substring] = []
        for part in joined.split(separator: ",", omittingEmptySubsequences: false) {
            if let last = fields.last, !beginsCookie(part) {
                fields[fields.count - 1] = joined[last.startIndex..<part.endIndex]
            } else {
                fields.append(part)
            }
        }
        return fields.map { String($0.drop { $0 == " " }) }
    }

    /// Whether a part begins with a token and a `=`. After a comma, only a cookie does.
    private static func beginsCookie(_ part: Substring) -> Bool {
        let name = part.drop { $0 == " " }.prefix { !"=; ".contains($0) }
        return !name.isEmpty && part[name.endIndex...].first == "="
    }
}
