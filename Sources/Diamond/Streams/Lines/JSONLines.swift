import Foundation
import HTTPTypes

/// The sequence of ``StreamedResponse/values(of:using:lineLimit:)``. Each value is decoded when it is requested.
struct JSONLines<Value: Decodable & Sendable>: AsyncSequence, Sendable {
    typealias Element = Value
    typealias Failure = ConnectionError

    fileprivate let response: StreamedResponse
    fileprivate let decoder: any ResponseDecoder
    fileprivate let limit: Int

    struct AsyncIterator: AsyncIteratorProtocol {
        private let decoder: any ResponseDecoder
        private let refusal: ConnectionError?
        private var pieces: StreamedBytes.AsyncIterator?
        private var lines: LineSplitter

        fileprivate init(_ values: JSONLines) {
            let response = values.response
            decoder = values.decoder
            refusal = response.status.kind == .successful ? nil : ConnectionError(badStatus: response.head)
            pieces = response.pieces.makeAsyncIterator()
            lines = LineSplitter(limit: values.limit)
        }

        mutating func next() async throws(ConnectionError) -> Value? {
            do throws(ConnectionError) {
                if let refusal { throw refusal }
                while let line = try await line() { if !line.isBlank { return try value(of: line) } }
            } catch {
                pieces?.abandon()
                pieces = nil
                throw error
            }
            return nil
        }

        private mutating func line() async throws(ConnectionError) -> [UInt8]? {
            guard pieces != nil else { return nil }
            while true {
                if let line = try bufferedLine() { return line }
                guard let piece = try await pieces?.next() else {
                    pieces = nil
                    return lines.last()
                }
                lines.feed(piece)
            }
        }

        private mutating func bufferedLine() throws(ConnectionError) -> [UInt8]? {
            do throws(LineBuffer.TooLong) { return try lines.next() } catch {
                let message = "line \(lines.number) is longer than \(error.limit) bytes: allow more"
                throw ConnectionError(.bodyTooLarge, message)
            }
        }

        private func value(of line: [UInt8]) throws(ConnectionError) -> Value {
            do { return try decoder.value(of: Value.self, from: Data(line)) } catch {
                let message = "line \(lines.number) is no \(Value.self): see the cause"
                throw ConnectionError(.undecodable, message, cause: error)
            }
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }
}

extension StreamedResponse {
    /// Returns the values of a body with one value on each line (`application/x-ndjson`, `application/jsonl`).
    ///
    /// ```swift
    /// for try await city in streamed.values(of: City.self) {
    ///     show(city)
    /// }
    /// ```
    ///
    /// Each value is decoded when it is requested. Blank lines are skipped, and the last line needs no line break. Like
    /// ``bytes``, the values have one consumer.
    ///
    /// An iteration throws ``ConnectionError``, which ends the exchange: `badStatus`, with the response, for a status
    /// other than 2xx; `undecodable` and `bodyTooLarge`, with the number of the line and nothing of its content; and
    /// the errors of ``bytes``.
    ///
    /// - Parameters:
    ///   - type: the type of the values.
    ///   - decoder: the decoder, which is called with each line that is not blank; `nil`, the default, for the
    ///     engine's.
    ///   - lineLimit: the greatest size of a line in bytes; 1 MiB.
    public func values<Value: Decodable & Sendable>(
        of type: Value.Type,
        using decoder: (any ResponseDecoder)? = nil,
        lineLimit: Int = 1 << 20
    ) -> some AsyncSequence<Value, ConnectionError> & Sendable {
        JSONLines<Value>(response: self, decoder: decoder ?? head.standardDecoder, limit: lineLimit)
    }
}

extension [UInt8] {
    /// Whether the line has only JSON's white space (RFC 8259 section 2).
    fileprivate var isBlank: Bool { allSatisfy { [0x09, 0x0A, 0x0D, 0x20].contains($0) } }
}
