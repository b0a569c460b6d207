import Foundation
import HTTPTypes

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Foundation's responses and errors in the transport's terms.
enum URLSessionResponse {
    static func head(of response: HTTPURLResponse) -> (status: HTTPResponse.Status, headers: HTTPFields) {
        var headers = HTTPFields()
        for (name, value) in response.allHeaderFields {
            guard let name = HTTPField.Name("\(name)") else { continue }
            let values = name == .setCookie ? SetCookieFields.separated("\(value)") : ["\(value)"]
            for value in values { headers.appendReceived(HTTPField(name: name, value: value)) }
        }
        // Foundation has decoded the body by now.
        if let coding = headers[.contentEncoding], coding.lowercased() != "identity" {
            headers[.contentEncoding] = nil
            headers[.contentLength] = nil
        }
        return (HTTPResponse.Status(code: response.statusCode), headers)
    }

    static func failure(_ error: any Error) -> TransportError {
        guard let error = error as? URLError else {
            return TransportError(
                .other, "URLSession failed: see the cause", requestMayHaveBeenSent: true, cause: error)
        }
        let (code, reason, wasSent) = meaning(error.code)
        return TransportError(code, reason, requestMayHaveBeenSent: wasSent)
    }

    private static func meaning(_ code: URLError.Code) -> (TransportError.Code, String, Bool) {
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
        // The scheme is http: it is the server that speaks something else.
        case .unsupportedURL, .cannotDecodeContentData, .cannotDecodeRawData, .cannotParseResponse:
            (.badResponse, "the server's answer is not valid HTTP: check that it speaks HTTP", true)
        default: (.connectionLost, "the connection broke: try again", true)
        }
    }
}
