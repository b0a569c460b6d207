#if (Curl || AsyncHTTPClient) && canImport(CDiamondZlib)
import HTTPTypes

/// The reason why a coded body cannot be decoded.
enum ContentDecodingError: Error {
    /// The body does not match its coding.
    case invalid
    /// The body ends before its coding does.
    case truncated
    /// The body grows too much when it is decoded.
    case tooLarge
    /// The body's reader has stopped.
    case stopped
}

/// A decoder that removes the content codings of a body as it arrives, and checks that they are complete. It is used
/// by one thread.
final class ContentDecoder {
    private struct Step {
        let inflater: Inflater
        var expansion = Expansion()
    }

    /// The decoding steps. The first removes the coding that the server applied last.
    private var steps: [Step]
    private let request: TransportRequest
    /// The value of `Content-Encoding`.
    private let name: String
    /// The number of bytes received over the wire.
    private var encoded = 0

    /// Creates a decoder; `nil` if the head names no coding or an unknown one, or if memory is exhausted.
    init?(_ headers: HTTPFields, of request: TransportRequest) {
        guard let codings = ContentCoding.known(in: headers) else { return nil }
        steps = codings.reversed().compactMap(Inflater.init).map { Step(inflater: $0) }
        guard steps.count == codings.count else { return nil }
        self.request = request
        name = headers[.contentEncoding] ?? ""
    }

    /// Decodes bytes from the wire into a pipe.
    ///
    /// - Parameter highWater: the number of buffered bytes from which the producer is asked to pause; `nil` for that of
    ///   the pipe.
    func decode(
        _ bytes: UnsafeRawBufferPointer, into pipe: BodyPipe, highWater: Int? = nil
    ) throws(TransportError) -> BodyPipe.Demand {
        var demand = pipe.isFull ? BodyPipe.Demand.pause : .more
        do throws(ContentDecodingError) {
            encoded += bytes.count
            try decode(bytes, fromStep: 0) { piece throws(ContentDecodingError) in
                demand = pipe.yield(bytes: piece, highWater: highWater)
                if demand == .stop { throw .stopped }
            }
        } catch {
            guard error != .stopped else { return .stop }
            throw failure(error)
        }
        return demand
    }

    /// Decodes bytes with a step and the steps after it. The growth of each step is checked, because the intermediate
    /// data may be larger than the result.
    private func decode(
        _ bytes: UnsafeRawBufferPointer,
        fromStep step: Int,
        onPiece: Inflater.PieceHandler
    ) throws(ContentDecodingError) {
        guard step < steps.count else { return try onPiece(bytes) }
        let inflater = steps[step].inflater
        try inflater.decode(bytes) { piece throws(ContentDecodingError) in
            steps[step].expansion.add(piece.count)
            guard !steps[step].expansion.isBomb(of: encoded) else { throw .tooLarge }
            try decode(piece, fromStep: step + 1, onPiece: onPiece)
        }
    }

    /// The error if the body ends here; `nil` if its codings are complete.
    var endFailure: TransportError? {
        steps.allSatisfy(\.inflater.isAtEnd) ? nil : failure(.truncated)
    }

    private func failure(_ error: ContentDecodingError) -> TransportError {
        let coding = "the body's content coding, \(String(name.prefix(40)).printable),"
        let (code, reason): (TransportError.Code, String) =
            switch error {
            case .truncated: (.truncatedBody, "\(coding) is cut before its end: try again")
            case .tooLarge: (.bodyTooLarge, Expansion.reason)
            case .invalid, .stopped: (.badResponse, "\(coding) is broken: try again, or ask for the coding identity")
            }
        return TransportError(code, "\(request.originText): \(reason)", serverMayHaveActed: true)
    }
}
#endif
