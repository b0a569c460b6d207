/// Reads the events of a source: connects, reads, and reconnects.
struct EventReader: AsyncIteratorProtocol {
    private let source: EventSource
    private var parser: EventStreamParser
    private var reconnection: Reconnection
    /// The body of the current connection; `nil` without one.
    private var pieces: StreamedBytes.AsyncIterator?
    private var delay = Duration.zero
    private var isOver = false

    init(_ source: EventSource) {
        self.source = source
        parser = EventStreamParser(lastEventID: source.lastEventID, limit: source.limit)
        reconnection = source.reconnection
    }

    mutating func next() async throws(ConnectionError) -> ServerSentEvent? {
        do throws(ConnectionError) {
            while !isOver {
                if let event = try parsed() { return event }
                try await readMore()
            }
            return nil
        } catch {
            isOver = true
            pieces = nil
            throw error
        }
    }

    private mutating func parsed() throws(ConnectionError) -> ServerSentEvent? {
        defer { if let time = parser.reconnectionTime { reconnection.time = time } }
        do throws(EventStreamParser.TooLong) {
            var event = try parser.next()
            event?.decoder = source.pipeline.exchangeEnvironment.decoder
            return event
        } catch {
            let message = "an event is larger than \(error.limit) bytes: allow more"
            throw ConnectionError(.bodyTooLarge, message)
        }
    }

    private mutating func readMore() async throws(ConnectionError) {
        do throws(ConnectionError) {
            guard pieces != nil else { return try await connect() }
            if let piece = try await pieces?.next() { parser.feed(piece) } else { end() }
        } catch {
            try scheduleReconnection(after: error)
        }
    }

    private mutating func connect() async throws(ConnectionError) {
        if delay > .zero, await !source.pipeline.exchangeEnvironment.retryCoordinator.waits.sleep(delay) {
            throw .cancelled
        }
        guard let bytes = try await source.open(after: parser.lastEventID, retry: reconnection.attempts) else {
            isOver = true
            return
        }
        reconnection.open()
        pieces = bytes.makeAsyncIterator()
        // An unfinished event at the end of a stream is dropped.
        parser = EventStreamParser(lastEventID: parser.lastEventID, limit: source.limit)
    }

    private mutating func end() {
        pieces = nil
        if let next = reconnection.delayAfterEnd { delay = next } else { isOver = true }
    }

    private mutating func scheduleReconnection(after error: ConnectionError) throws(ConnectionError) {
        pieces = nil
        let exchangeEnvironment = source.pipeline.exchangeEnvironment
        guard
            let next = reconnection.delay(
                after: error, draw: exchangeEnvironment.retryCoordinator.draw(), now: exchangeEnvironment.now())
        else {
            throw error
        }
        delay = next
    }
}
