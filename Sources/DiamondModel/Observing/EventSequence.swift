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

    /// Creates the sequence of the elements that `element` makes of events. It leaves out an event by returning `nil`.
    init<Event>(of observers: Observers<Event>, _ element: @escaping (Event) -> Element?) {
        buffer = Buffer()
        buffer.token = observers.add(
            { [weak buffer] event in element(event).map { buffer?.append($0) } },
            finish: { [weak buffer] in buffer?.signal.continuation.finish() })
    }

    func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(buffer: buffer, signals: buffer.signal.stream.makeAsyncIterator())
    }

    struct AsyncIterator: AsyncIteratorProtocol {
        let buffer: Buffer
        var signals: AsyncStream<Void>.Iterator

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
