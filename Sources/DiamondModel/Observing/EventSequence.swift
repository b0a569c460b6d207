import Diamond

/// The events of a model or collection as an asynchronous sequence, for one consumer in the model's isolation domain.
///
/// Events are buffered without limit until the consumer reads them. The sequence ends when the model or collection is
/// deallocated, or when the consumer's task is canceled.
struct EventSequence<Element>: AsyncSequence {
    typealias Failure = Never

    private let buffer: Buffer

    /// The events that the consumer has not read yet.
    final class Buffer {
        var waiting = FIFOQueue<Element>()
        let signal = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        var token: ObserverToken?

        func append(_ element: Element) {
            waiting.append(element)
            signal.continuation.yield()
        }
    }

    init(_ observe: (Buffer) -> ObserverToken) {
        buffer = Buffer()
        buffer.token = observe(buffer)
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(buffer: buffer) }

    struct AsyncIterator: AsyncIteratorProtocol {
        private let buffer: Buffer
        private var signals: AsyncStream<Void>.Iterator

        init(buffer: Buffer) {
            self.buffer = buffer
            signals = buffer.signal.stream.makeAsyncIterator()
        }

        mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
            while true {
                if let element = buffer.waiting.popFirst() { return element }
                guard await signals.next(isolation: actor) != nil else { return nil }
            }
        }
    }
}

@available(*, unavailable)
extension EventSequence: Sendable {}

@available(*, unavailable)
extension EventSequence.AsyncIterator: Sendable {}
