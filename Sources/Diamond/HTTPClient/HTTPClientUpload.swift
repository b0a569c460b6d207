#if AsyncHTTPClient
import AsyncHTTPClient
import Foundation
import NIOCore

/// The body of a request that is being sent. It is read no faster than it is sent.
///
/// `@unchecked Sendable`: the mutable state is used on the exchange's loop only.
final class HTTPClientUpload: @unchecked Sendable {
    private unowned let exchange: HTTPClientExchange
    private let writer: HTTPClient.Body.StreamWriter
    private let loop: any EventLoop
    private let exchanges: HTTPClientExchanges

    // Used on `loop` only.
    private var promise: EventLoopPromise<Void>?
    private var task: Task<Void, Never>?
    /// Whether the upload waits for the next piece from the stream, so that no timeout applies.
    private(set) var isHeldBack = false

    /// - Parameter promise: succeeds when the body has been sent, fails if it cannot be.
    init(
        of exchange: HTTPClientExchange,
        to writer: HTTPClient.Body.StreamWriter,
        promise: EventLoopPromise<Void>
    ) {
        self.exchange = exchange
        self.writer = writer
        self.promise = promise
        loop = exchange.loop
        exchanges = exchange.exchanges
    }

    // MARK: The loop's side

    func start() {
        switch exchange.request.body {
        case .none: finish(.success(()))
        case .bytes(let data): begin(UploadSlices(data), length: nil)
        case .stream(let length, let make): begin(make(), length: length)
        }
    }

    func stop() {
        task?.cancel()
        finish(.failure(HTTPClientError.cancelled))
    }

    private func begin(_ pieces: any AsyncSequence<Data, any Error> & Sendable, length: Int64?) {
        isHeldBack = true
        task = Task { [self] in
            let result = await feed(from: pieces, length: length)
            exchanges.run(on: loop) { [self] in finish(result) }
        }
    }

    private func finish(_ result: Result<Void, any Error>) {
        isHeldBack = false
        promise?.completeWith(result)
        promise = nil
        task = nil
    }

    // MARK: The stream's side

    private func feed(
        from pieces: any AsyncSequence<Data, any Error> & Sendable,
        length: Int64?
    ) async -> Result<Void, any Error> {
        var received: Int64 = 0
        do {
            for try await piece in pieces where !piece.isEmpty {
                received += Int64(piece.count)
                guard received <= length ?? .max else { return .failure(Self.failure("is longer than its length")) }
                guard await write(piece) else { return .failure(HTTPClientError.cancelled) }
            }
        } catch {
            return .failure(Self.failure("failed: see the cause", cause: error))
        }
        return received < length ?? 0 ? .failure(Self.failure("ended before its length")) : .success(())
    }

    /// Sends a piece and waits for it; returns `false` if no more can be sent.
    private func write(_ piece: Data) async -> Bool {
        await withCheckedContinuation { waiter in
            let isScheduled = exchanges.run(on: loop) { [self] in
                guard promise != nil else { return waiter.resume(returning: false) }
                isHeldBack = false
                exchange.recordProgress()
                writer.write(.byteBuffer(ByteBuffer(bytes: piece))).whenComplete { [self] result in
                    isHeldBack = promise != nil
                    waiter.resume(returning: (try? result.get()) != nil)
                }
            }
            if !isScheduled { waiter.resume(returning: false) }
        }
    }

    private static func failure(_ what: String, cause: (any Error)? = nil) -> TransportError {
        .badStream(what, serverMayHaveActed: true, cause: cause)
    }
}

/// A sequence of slices of bytes in memory. Each slice that is sent counts as progress.
private struct UploadSlices: AsyncSequence, Sendable {
    private static let size = 64 << 10

    let data: Data

    init(_ data: Data) { self.data = data }

    struct Iterator: AsyncIteratorProtocol {
        fileprivate var rest: Data

        mutating func next() async throws -> Data? {
            guard !rest.isEmpty else { return nil }
            defer { rest = rest.dropFirst(UploadSlices.size) }
            return rest.prefix(UploadSlices.size)
        }
    }

    func makeAsyncIterator() -> Iterator { Iterator(rest: data) }
}
#endif
