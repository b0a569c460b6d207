/// A value with a written form in JSON, which is its `Codable` form.
protocol Written: Codable {
    /// Reads the written form.
    init(written: JSONValue) throws(RequestError)

    /// The written form, without default values.
    var written: JSONValue { get throws(RequestError) }
}

extension Written {
    /// Reads the written form with any decoder.
    public init(from decoder: any Decoder) throws {
        try self.init(written: try JSONValue(from: decoder))
    }

    /// Writes the written form with any encoder, without default values.
    public func encode(to encoder: any Encoder) throws {
        try written.encode(to: encoder)
    }
}
