extension RequestURL {
    /// A URL that is being written, in the form in which it is sent, with the origin in normal form.
    struct Writer {
        var bytes: [UInt8] = []
        var originEnd = 0
        var pathEnd = 0
        var userInfo: [UInt8]?

        var url: RequestURL {
            let sent = String(decoding: bytes, as: UTF8.self)
            guard bytes.span.firstIndex(of: PercentEncoding.percent, in: originEnd..<bytes.count) != nil else {
                return RequestURL(whole: sent, originEnd: originEnd, pathEnd: pathEnd, userInfo: userInfo)
            }
            var normal = Array(bytes[..<originEnd]) + PercentEncoding.normal(bytes[originEnd..<pathEnd])
            let normalPathEnd = normal.count
            normal += PercentEncoding.normal(bytes[pathEnd...], decoding: false)
            return RequestURL(
                whole: String(decoding: normal, as: UTF8.self), originEnd: originEnd, pathEnd: normalPathEnd,
                userInfo: userInfo, asWritten: normal == bytes ? nil : sent)
        }
    }
}

extension RequestURL.Writer {
    /// Removes dot segments (RFC 3986 section 5.2.4) from a path that is empty or starts with "/".
    ///
    /// An escaped dot counts as a dot, to which it is equivalent (section 6.2.2.2).
    mutating func removeDotSegments() {
        let start = originEnd
        guard start < bytes.count else { return bytes.append(UInt8(ascii: "/")) }
        guard bytes.span.mayHaveDotSegment(in: start..<bytes.count) else { return }
        let segments = bytes[(start + 1)...].split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        var output: [ArraySlice<UInt8>] = []
        for segment in segments {
            switch segment.dots {
            case 1: continue
            case 2: _ = output.popLast()
            default: output.append(segment)
            }
        }
        if segments.last?.dots != nil { output.append([]) }
        let path = output.isEmpty ? [UInt8(ascii: "/")] : output.flatMap { [UInt8(ascii: "/")] + $0 }
        bytes.replaceSubrange(start..., with: path)
    }
}

extension ArraySlice<UInt8> {
    /// The number of dots of a segment `.` or `..`, escaped or not; `nil` for any other segment.
    package var dots: Int? {
        var (rest, count) = (self, 0)
        while let byte = rest.popFirst() {
            if byte == PercentEncoding.percent {
                guard rest.count >= 2, rest.removeFirst() == UInt8(ascii: "2"),
                    rest.removeFirst() | 0x20 == UInt8(ascii: "e")
                else { return nil }
            } else if byte != UInt8(ascii: ".") {
                return nil
            }
            count += 1
        }
        return (1...2).contains(count) ? count : nil
    }
}

extension Span<UInt8> {
    /// Whether a path has a segment that starts with a dot, or contains an escape.
    fileprivate func mayHaveDotSegment(in path: Range<Int>) -> Bool {
        hasDotSegment(in: path) || firstIndex(of: PercentEncoding.percent, in: path) != nil
    }
}
