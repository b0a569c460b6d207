#if (Curl || AsyncHTTPClient) && canImport(CDiamondZlib)
import HTTPTypes

/// The error in a coded body.
enum ContentFault: Error {
    /// The body does not match its coding.
    case broken
    /// The body ends before its coding does.
    case cut
    /// The body grows out of proportion.
    case bomb
    /// The body has no reader any more.
    case unwanted
}

/// Removes the content codings of a body as it comes, and tells whether they have come to their ends. Used by one thread.
final class ContentDecoder {
    private struct Step {
        let inflater: Inflater
        var expansion = Expansion()
    }

    /// The last coding that the server applied first.
    private var steps: [Step]
    private let request: TransportRequest
    /// The value of `Content-Encoding`.
    private let name: String
    /// The bytes that have come over the wire.
    private var encoded = 0

    /// `nil` where the head names no coding, or one that is not known; and when the memory is gone.
    init?(_ headers: HTTPFields, of request: TransportRequest) {
        guard let codings = ContentCoding.known(in: headers) else { return nil }
        steps = codings.reversed().compactMap(Inflater.init).map { Step(inflater: $0) }
        guard steps.count == codings.count else { return nil }
        (self.request, name) = (request, headers[.contentEncoding] ?? "")
    }

    /// Decodes bytes from the wire into a pipe.
    func decode(_ bytes: UnsafeRawBufferPointer, into pipe: BodyPipe) throws(TransportError) -> BodyPipe.Demand {
        var demand = pipe.isFull ? BodyPipe.Demand.pause : .more
        do throws(ContentFault) {
            encoded += bytes.count
            try decode(bytes, from: 0) { piece throws(ContentFault) in
                demand = pipe.yield(bytes: piece)
                if demand == .stop { throw .unwanted }
            }
        } catch {
            guard error != .unwanted else { return .stop }
            throw failure(error)
        }
        return demand
    }

    /// Each step counts: a body that decodes to little may grow on its way there.
    private func decode(_ bytes: UnsafeRawBufferPointer, from step: Int, _ take: Inflater.Take) throws(ContentFault) {
        guard step < steps.count else { return try take(bytes) }
        let inflater = steps[step].inflater
        try inflater.decode(bytes) { piece throws(ContentFault) in
            steps[step].expansion.add(piece.count)
            guard !steps[step].expansion.isBomb(of: encoded) else { throw .bomb }
            try decode(piece, from: step + 1, take)
        }
    }

    /// Why the body cannot end here; `nil` where it can.
    var endFailure: TransportError? {
        steps.allSatisfy(\.inflater.isAtEnd) ? nil : failure(.cut)
    }

    private func failure(_ fault: ContentFault) -> TransportError {
        let coding = "the body's content coding, \(String(name.prefix(40)).printable),"
        let (code, reason): (TransportError.Code, String) =
            switch fault {
            case .cut: (.truncatedBody, "\(coding) is cut before its end: try again")
            case .bomb: (.bodyTooLarge, Expansion.reason)
            case .broken, .unwanted: (.badResponse, "\(coding) is broken: try again, or ask for the coding identity")
            }
        return TransportError(code, "\(request.originText): \(reason)", requestMayHaveBeenSent: true)
    }
}
#endif
