import Foundation
import HTTPTypes

/// A stored part of a representation, which answers the ranges within it (RFC 9111 sections 3.3 and 3.4).
///
/// | part | stored as |
/// |---|---|
/// | begins at the first byte | 200 with the length of the whole, like the beginning of a transfer that broke: a request for the whole asks for the rest only |
/// | any other | 206 with `Content-Range` |
struct StoredPart: Equatable {
    /// The response that is stored. The body has the bytes of ``range``, or is empty if only the head was read.
    private(set) var stored: StoredResponse
    let validator: StrongValidator
    let range: Range<Int>
    /// The length of the whole representation in bytes.
    let length: Int

    /// Reads a 206, or the beginning of a 200; `nil` if it cannot be a part. A response with a coding, several ranges,
    /// an unknown length, another number of bytes than it announces, or without a strong validator is none.
    ///
    /// - Parameters:
    ///   - count: the bytes of the part.
    ///   - now: the current time; only for years of two digits.
    init?(_ stored: StoredResponse, count: Int, now: WallTime) {
        let headers = stored.headers
        guard stored.status == 206 else {
            guard let content = PartialContent(status: stored.status, headers: headers, count: count, now: now) else {
                return nil
            }
            self.init(stored, content.validator, content.received, of: content.completeLength)
            return
        }
        guard case .bytes(let range, let length?) = ContentRange(headers), range.count == count, !headers.isCoded,
            let validator = StrongValidator(headers, now: now)
        else { return nil }
        self.init(stored, validator, Range(range), of: length)
    }

    private init(_ stored: StoredResponse, _ validator: StrongValidator, _ range: Range<Int>, of length: Int) {
        self.validator = validator
        self.range = range
        self.length = length
        self.stored = range.lowerBound == 0 ? stored.beginning(of: length) : stored.part(range, of: length)
    }

    /// The head of the 206 that answers a range within the part.
    func head(for bytes: Range<Int>) -> StoredResponse {
        var head = stored.part(bytes, of: length)
        head.body = Data()
        return head
    }

    /// Returns the part with its bytes.
    func with(body: Data) -> StoredPart {
        var part = self
        part.stored.body = body
        return part
    }

    // MARK: Combining

    /// The effect of a newer part on the stored one.
    enum Addition: Equatable {
        /// The stored part stays.
        case keep
        case store(StoredPart)
        /// All bytes are here: a 200.
        case complete(StoredResponse)
    }

    /// Returns the result of a newer part. Two parts are combined if they share the strong validator, and touch or
    /// overlap. Of two parts of one representation with a gap between them, the larger one is stored.
    ///
    /// - Parameters:
    ///   - newer: the newer part, with its bytes.
    ///   - limit: the most bytes of a part.
    static func adding(_ newer: StoredPart, to older: StoredPart?, limit: Int) -> Addition {
        guard let older, older.validator == newer.validator, older.length == newer.length else {
            return newer.addition
        }
        guard older.range.lowerBound <= newer.range.upperBound, newer.range.lowerBound <= older.range.upperBound else {
            return older.range.count > newer.range.count ? .keep : newer.addition
        }
        // Only the head of a large part is read.
        guard older.stored.body.count == older.range.count else { return .keep }
        let combined = older.combined(with: newer)
        return combined.range.count > limit && !combined.isComplete ? .keep : combined.addition
    }

    private var isComplete: Bool { range == 0..<length }

    private var addition: Addition { isComplete ? .complete(stored) : .store(self) }

    /// Returns the union of two parts that touch or overlap. The fields of the newer one replace those of the same
    /// names (RFC 9111 section 3.4).
    private func combined(with newer: StoredPart) -> StoredPart {
        var stored = newer.stored
        stored.headerBlock = HeaderBlock.bytes(of: HeaderBlock.updated(self.stored.headers, by: newer.stored.headers))
        stored.readHeadersAgain()
        stored.body =
            self.stored.body.prefix(max(0, newer.range.lowerBound - range.lowerBound)) + newer.stored.body
            + self.stored.body.dropFirst(max(0, newer.range.upperBound - range.lowerBound))
        let union =
            min(range.lowerBound, newer.range.lowerBound)..<max(range.upperBound, newer.range.upperBound)
        return StoredPart(stored, validator, union, of: length)
    }
}

extension StoredResponse {
    fileprivate mutating func readHeadersAgain() { know(HeaderBlock.fields(of: headerBlock)) }

    /// Returns the response as the beginning of a 200.
    fileprivate func beginning(of length: Int) -> StoredResponse {
        changed(status: 200) { headers in
            headers[.contentRange] = nil
            headers[.contentLength] = String(length)
        }
    }

    /// Returns the response as a 206.
    fileprivate func part(_ bytes: Range<Int>, of length: Int) -> StoredResponse {
        changed(status: 206) { headers in
            headers[.contentRange] = "bytes \(bytes.lowerBound)-\(bytes.upperBound - 1)/\(length)"
            headers[.contentLength] = String(bytes.count)
        }
    }

    private func changed(status: Int, _ change: (inout HTTPFields) -> Void) -> StoredResponse {
        var new = self
        var headers = headers
        change(&headers)
        new.status = status
        new.headerBlock = HeaderBlock.bytes(of: headers)
        new.know(headers)
        return new
    }
}
