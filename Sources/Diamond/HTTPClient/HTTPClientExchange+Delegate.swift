#if AsyncHTTPClient
import AsyncHTTPClient
import HTTPTypes
import NIOCore
import NIOHTTP1

/// The callbacks of async-http-client, on the exchange's loop.
extension HTTPClientExchange: HTTPClientResponseDelegate {
    typealias Response = Void

    func didSendRequestHead(task: HTTPClient.Task<Void>, _ head: HTTPRequestHead) {
        recordProgress()
        _ = pendingResponse.beginSending()
    }

    func didSendRequestPart(task: HTTPClient.Task<Void>, _ part: IOData) { recordProgress() }

    // A client that follows redirects itself reports nothing more about this response.
    func didVisitURL(task: HTTPClient.Task<Void>, _ request: HTTPClient.Request, _ head: HTTPResponseHead) {
        guard (300..<400).contains(head.status.code) else { return }
        isRedirected = true
        exchanges.run(on: loop) { [self] in
            if isRedirected, !isOver { fail(HTTPClientFailure.followsRedirects) }
        }
    }

    func didReceiveHead(task: HTTPClient.Task<Void>, _ head: HTTPResponseHead) -> EventLoopFuture<Void> {
        recordProgress()
        isRedirected = false
        if head.status == .switchingProtocols {
            fail(.badResponse("the server switched to a protocol that was not requested"))
        } else if !isOver {
            receive(HTTPClientHead(head))
        }
        return loop.makeSucceededVoidFuture()
    }

    /// Returns a future that keeps async-http-client from reading on while the body is held back.
    func didReceiveBodyPart(task: HTTPClient.Task<Void>, _ buffer: ByteBuffer) -> EventLoopFuture<Void> {
        recordProgress()
        guard !isOver, decode(buffer) == .pause else { return loop.makeSucceededVoidFuture() }
        let promise = loop.makePromise(of: Void.self)
        readPromise = promise
        return promise.futureResult
    }

    private func decode(_ buffer: ByteBuffer) -> BodyPipe.Demand {
        let demand = buffer.withUnsafeReadableBytes { bytes in
            Result { () throws(TransportError) in try decoder?.decode(bytes, into: pipe) ?? pipe.yield(bytes: bytes) }
        }
        switch demand {
        case .success(let demand): return demand
        case .failure(let error):
            fail(error)
            return .stop
        }
    }

    func didFinishRequest(task: HTTPClient.Task<Void>) throws { end(decoder?.endFailure) }

    func didReceiveError(task: HTTPClient.Task<Void>, _ error: any Error) {
        if isRedirected { return fail(HTTPClientFailure.followsRedirects) }
        // The client's decoder reports an incomplete body for a response without a body.
        if isBodyless, HTTPClientFailure.isBrokenCoding(error) { return end(nil) }
        if HTTPClientFailure.isEndOfConnection(error), repeatIfAllowed() { return }
        end(HTTPClientFailure.error(error, exchange: self))
    }
}

// MARK: The body of the request

extension HTTPClientExchange {
    /// Sends the body. async-http-client calls it after the head is sent.
    func send(_ writer: HTTPClient.Body.StreamWriter) -> EventLoopFuture<Void> {
        let promise = loop.makePromise(of: Void.self)
        let upload = HTTPClientUpload(of: self, to: writer, promise: promise)
        guard !isOver else {
            upload.stop()
            return promise.futureResult
        }
        self.upload = upload
        upload.start()
        return promise.futureResult
    }
}
#endif
