#if Curl && canImport(CDiamondCurl)
import CDiamondCurl
import Foundation

/// A translator of libcurl's results into the transport's errors.
enum CurlFailure {
    private typealias Meaning = (code: TransportError.Code, reason: String)

    /// Returns the error for a result; `nil` for success.
    static func error(_ result: CURLcode, transfer: CurlTransfer) -> TransportError? {
        guard result != CURLE_OK else { return nil }
        // The bytes were left over from the previous response, or a proxy miscounted. Another connection works.
        if isInvalidResponse(result), transfer.isOnReusedConnection {
            let reason = "a reused connection brought an invalid answer: try again"
            return error(.connectionLost, reason: reason, transfer: transfer)
        }
        let (code, reason) =
            proxyRefusal(transfer) ?? excess(result, transfer: transfer)
            ?? meaning(result, hasHead: transfer.hasHead)
        return error(code, reason: reason, transfer: transfer)
    }

    /// Returns the failure for a proxy that refuses to open a tunnel.
    private static func proxyRefusal(_ transfer: CurlTransfer) -> Meaning? {
        guard let handle = transfer.handle, !transfer.hasBegun else { return nil }
        let status = diamond_curl_get_long(handle.easy, CURLINFO_HTTP_CONNECTCODE)
        guard status >= 300 else { return nil }
        return (.cannotConnect, "the proxy answered \(status): check its address and credentials")
    }

    /// Returns the failure for a line without an end, or for invalid chunks. libcurl reports them as a broken
    /// connection or lack of memory.
    private static func excess(_ result: CURLcode, transfer: CurlTransfer) -> Meaning? {
        guard transfer.hasBegun, let handle = transfer.handle else { return nil }
        switch result {
        case CURLE_OUT_OF_MEMORY, diamond_curl_too_large:
            return (.badResponse, transfer.hasHead ? HeadLimit.trailers : HeadLimit.longLine)
        case CURLE_RECV_ERROR where handle.reason.contains("chunked"):
            let isMemory = handle.reason.contains("memory")
            return (.badResponse, isMemory ? HeadLimit.trailers : "the chunks of the body are not valid: try again")
        default: return nil
        }
    }

    private static func isInvalidResponse(_ result: CURLcode) -> Bool {
        result == CURLE_WEIRD_SERVER_REPLY || result == CURLE_UNSUPPORTED_PROTOCOL
    }

    static func timedOut(_ transfer: CurlTransfer) -> TransportError {
        if !transfer.hasBegun { return error(.timedOut, reason: lateConnection, transfer: transfer) }
        if transfer.isInTrailers { return error(.timedOut, reason: lateTrailers, transfer: transfer) }
        let reason = HeadLimit.timeoutMessage(transfer.request.timeout, isInHead: !transfer.hasHead)
        return error(.timedOut, reason: reason, transfer: transfer)
    }

    static func closed(_ transfer: CurlTransfer) -> TransportError {
        .closed(serverMayHaveActed: transfer.pendingResponse.isSent)
    }

    static let noMemory = TransportError(.other, "libcurl has no memory for a handle: send less at the same time")
    private static let lateTrailers = "the trailers after the body do not end: have the server send none"
    private static let lateConnection = "no connection in time: try again, or allow more time"

    private static func error(
        _ code: TransportError.Code,
        reason: String,
        transfer: CurlTransfer
    ) -> TransportError {
        let isSent = transfer.pendingResponse.isSent
        return TransportError(code, "\(transfer.request.originText): \(reason)", serverMayHaveActed: isSent)
    }

    private static func meaning(_ result: CURLcode, hasHead: Bool) -> Meaning {
        switch result {
        case CURLE_URL_MALFORMAT:
            (.badURL, "the URL cannot be sent: give an http or https URL")
        case CURLE_COULDNT_RESOLVE_PROXY:
            (.cannotResolveHost, "the proxy's name cannot be resolved: check it, and the network")
        case CURLE_PROXY:
            (.cannotConnect, "the proxy refuses the connection: check its address and credentials")
        case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
            (.certificateRejected, "TLS failed: the server's public key is none of its pins: check server and pins")
        case CURLE_NOT_BUILT_IN:
            (.badSettings, "libcurl was built without support for the settings: see `curl --version`")
        case CURLE_COULDNT_RESOLVE_HOST:
            (.cannotResolveHost, "the name cannot be resolved: check it, and the network")
        case CURLE_COULDNT_CONNECT:
            (.cannotConnect, "the connection is refused or the host unreachable: check that the server runs")
        case CURLE_OPERATION_TIMEDOUT:
            (.timedOut, lateConnection)
        case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CIPHER, CURLE_USE_SSL_FAILED:
            (.tlsFailed, "TLS failed, \(text(result)): try again, or check what the server offers")
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR,
            CURLE_SSL_INVALIDCERTSTATUS, diamond_curl_certificate_required:
            (.certificateRejected, "TLS failed, \(text(result)): check certificate, name and date")
        case CURLE_PARTIAL_FILE where hasHead:
            (.truncatedBody, "the body ended before its length: try again")
        // Over HTTP/2, libcurl reports a partial file before the head, too.
        case CURLE_PARTIAL_FILE, CURLE_GOT_NOTHING, CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_HTTP2_STREAM, CURLE_HTTP2,
            CURLE_SEND_FAIL_REWIND:
            (.connectionLost, "the connection broke, \(text(result)): try again")
        // For a head whose first field is folded, libcurl reports a bad argument.
        case CURLE_WEIRD_SERVER_REPLY, CURLE_BAD_CONTENT_ENCODING, CURLE_UNSUPPORTED_PROTOCOL,
            CURLE_BAD_FUNCTION_ARGUMENT:
            (.badResponse, "the server's answer is not valid HTTP, \(text(result)): check that it speaks HTTP")
        // The caller has stopped waiting, or the transfer has stored the reason.
        case CURLE_WRITE_ERROR, CURLE_ABORTED_BY_CALLBACK:
            (.cancelled, "the exchange was canceled")
        default:
            (.other, "libcurl failed, \(text(result)): try again")
        }
    }

    private static func text(_ result: CURLcode) -> String { String(cString: curl_easy_strerror(result)) }
}
#endif
