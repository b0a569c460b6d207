#if AsyncHTTPClient
import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import NIOHTTP2
import NIOHTTPCompression
import NIOPosix
import NIOSSL

/// A translator of async-http-client's errors into the transport's. The originals do not become causes, because some of
/// them show header fields of the request.
enum HTTPClientFailure {
    static func error(_ error: any Error, exchange: HTTPClientExchange) -> TransportError {
        if let error = error as? TransportError { return error }
        let stage = Stage(exchange)
        let (code, reason) = meaning(error, stage: stage)
        var failure = self.error(code, reason: reason, exchange: exchange)
        if stage == .sent, isRefusal(error) { failure.serverMayHaveActed = false }
        return failure
    }

    /// Whether the server reports that it has not processed the request (RFC 9113 section 8.7). A GOAWAY reports it,
    /// too, but arrives as a canceled stream, which may have any reason.
    private static func isRefusal(_ error: any Error) -> Bool {
        (error as? NIOHTTP2Errors.StreamClosed)?.errorCode == .refusedStream
    }

    static func timedOut(_ exchange: HTTPClientExchange) -> TransportError {
        let stage = Stage(exchange)
        let reason =
            stage == .connecting
            ? lateConnection : HeadLimit.timeoutMessage(exchange.request.timeout, isInHead: stage == .sent)
        return error(.timedOut, reason: reason, exchange: exchange)
    }

    static let chunks = TransportError(.badResponse, ChunkOverhead.reason, serverMayHaveActed: true)

    static let followsRedirects = TransportError(
        .other,
        "the HTTPClient follows redirects by itself: make it with redirectConfiguration: .disallow",
        serverMayHaveActed: true
    )

    /// Whether the server may have closed a reused connection.
    static func isEndOfConnection(_ error: any Error) -> Bool {
        // async-http-client takes an idle connection that was closed just then, and sends nothing.
        if case .ioOnClosedChannel? = error as? ChannelError { return true }
        if let error = error as? IOError { return [ECONNRESET, EPIPE].contains(error.errnoCode) }
        return error as? HTTPClientError == .remoteConnectionClosed || error as? HTTPParserError == .invalidEOFState
    }

    static func isBrokenCoding(_ error: any Error) -> Bool {
        error is NIOHTTPDecompression.DecompressionError || error is NIOHTTPDecompression.ExtraDecompressionError
    }

    // MARK: Meanings

    /// The stage of an exchange.
    private enum Stage {
        case connecting, sent, inBody

        init(_ exchange: HTTPClientExchange) {
            self = exchange.hasHead ? .inBody : exchange.pendingResponse.isSent ? .sent : .connecting
        }
    }

    private typealias Meaning = (code: TransportError.Code, reason: String)

    private static let lateConnection = "no connection in time: try again, or allow more time"
    private static let largeHead =
        "the server sent more than 256 header fields, or one longer than 80 KiB: have it send fewer"
    private static let trailers =
        "the server sent more than 256 trailers after the body, or one longer than 80 KiB: have it send fewer"
    private static let refused: Meaning = (
        .cannotConnect, "the connection is refused or the host unreachable: check that the server runs"
    )
    private static let broken: Meaning = (.connectionLost, "the connection broke: try again")

    private static func meaning(_ error: any Error, stage: Stage) -> Meaning {
        switch error {
        case let error as HTTPClientError: return meaning(error, stage: stage)
        case let error as NIOConnectionError: return meaning(error)
        // SwiftNIO's limits, which count the trailers with the head.
        case HTTPParserError.headerOverflow:
            return (.badResponse, stage == .inBody ? trailers : largeHead)
        case let error as HTTPParserError where error != .invalidEOFState:
            return (.badResponse, "the server's answer is not valid HTTP: check that it speaks HTTP")
        case is HTTPParserError: return ended(stage)
        case ChannelError.connectTimeout: return (.timedOut, lateConnection)
        case NIOHTTPDecompression.DecompressionError.limit:
            return (.bodyTooLarge, Expansion.reason)
        case let error where isBrokenCoding(error):
            return (.badResponse, "the body's content coding is broken: try again")
        case NIOSSLError.uncleanShutdown: return ended(stage)
        case let error where isCertificateRejection(error):
            return (.certificateRejected, "TLS failed: check certificate, name and date")
        case is NIOSSLError, is BoringSSLError, is NIOSSLExtraError:
            return stage == .connecting ? (.tlsFailed, "TLS failed: check certificate, name and date") : broken
        default: return stage == .connecting ? refused : broken
        }
    }

    /// Whether the certificate is the reason. BoringSSL names its reason only in a text.
    private static func isCertificateRejection(_ error: any Error) -> Bool {
        switch error {
        case NIOSSLError.unableToValidateCertificate: true
        case NIOSSLError.handshakeFailed(let reason): "\(reason)".contains("CERTIFICATE_VERIFY_FAILED")
        case let error as NIOSSLExtraError: error == .failedToValidateHostname
        default: false
        }
    }

    private static func ended(_ stage: Stage) -> Meaning {
        stage == .inBody ? (.truncatedBody, "the body ended before its length: try again") : broken
    }

    private static func meaning(_ error: HTTPClientError, stage: Stage) -> Meaning {
        switch error {
        case .invalidURL, .emptyHost, .emptyScheme: (.badURL, "the URL cannot be sent: give an http or https URL")
        case .alreadyShutdown: (.closed, "the HTTPClient was shut down: close the engine before it")
        case .remoteConnectionClosed, .uncleanShutdown: ended(stage)
        case .cancelled: (.cancelled, "the exchange was canceled")
        case .connectTimeout, .tlsHandshakeTimeout, .getConnectionFromPoolTimeout, .httpProxyHandshakeTimeout,
            .socksHandshakeTimeout:
            (.timedOut, lateConnection)
        case .readTimeout, .writeTimeout:
            (.timedOut, "nothing moved for as long as the HTTPClient's configuration allows: allow more time there")
        case .traceRequestWithBody: (.badRequestBody, "a TRACE request carries no body: leave it out")
        case .proxyAuthenticationRequired, .invalidProxyResponse:
            (.cannotConnect, "the proxy refuses the connection: check its address and credentials")
        default: (.other, error.shortDescription)
        }
    }

    private static func meaning(_ error: NIOConnectionError) -> Meaning {
        if error.connectionErrors.isEmpty, error.dnsAError != nil || error.dnsAAAAError != nil {
            return (.cannotResolveHost, "the name cannot be resolved: check it, and the network")
        }
        let isLate = error.connectionErrors.contains { failure in
            if case ChannelError.connectTimeout = failure.error { true } else { false }
        }
        return isLate ? (.timedOut, lateConnection) : refused
    }

    private static func error(
        _ code: TransportError.Code,
        reason: String,
        exchange: HTTPClientExchange
    ) -> TransportError {
        let isSent = exchange.pendingResponse.isSent
        return TransportError(code, "\(exchange.request.originText): \(reason)", serverMayHaveActed: isSent)
    }
}
#endif
