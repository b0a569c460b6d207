import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("The encoding of parameters") struct ParameterEncodingTests {
    private static let nested: Parameters = [
        "a": [1, "x,y", true] as JSONValue, "o": ["b": 1, "c": [2, 3]] as JSONValue,
    ]

    private func query(_ parameters: Parameters, _ encoding: ParameterEncoding) throws -> String {
        String(decoding: try parameters.items(encoding).bytes, as: UTF8.self)
    }

    @Test(
        arguments: [
            (.standard, "a=1&a=x%2Cy&a=true&o%5Bb%5D=1&o%5Bc%5D=2&o%5Bc%5D=3"),
            (
                ParameterEncoding(arrays: .brackets),
                "a%5B%5D=1&a%5B%5D=x%2Cy&a%5B%5D=true&o%5Bb%5D=1&o%5Bc%5D%5B%5D=2&o%5Bc%5D%5B%5D=3"
            ),
            (ParameterEncoding(arrays: .comma), "a=1,x%2Cy,true&o%5Bb%5D=1&o%5Bc%5D=2,3"),
            (
                ParameterEncoding(arrays: .json, objects: .json),
                "a=%5B1%2C%22x%2Cy%22%2Ctrue%5D&o=%7B%22b%22%3A1%2C%22c%22%3A%5B2%2C3%5D%7D"
            ),
        ] as [(ParameterEncoding, String)]) func `writes arrays and objects as chosen`(
            encoding: ParameterEncoding, text: String
        ) throws
    {
        #expect(try query(Self.nested, encoding) == text)
    }

    @Test(
        arguments: [
            (.repeated, ""), (.brackets, ""), (.comma, "a="), (.json, "a=%5B%5D"),
        ] as [(ParameterEncoding.Arrays, String)]) func `writes an empty array as chosen`(
            arrays: ParameterEncoding.Arrays, text: String
        ) throws
    {
        #expect(try query(["a": [] as JSONValue], ParameterEncoding(arrays: arrays)) == text)
    }

    @Test(arguments: [["a": [1, nil] as JSONValue], ["a": [[1]]], ["a": [["b": 1]]]] as [Parameters])
    func `refuses values that commas cannot join`(parameters: Parameters) {
        let error = #expect(throws: RequestError.self) { try parameters.items(ParameterEncoding(arrays: .comma)) }
        #expect(error?.code == .malformedParameter)
        #expect(error?.message.contains("encode arrays as json") == true)
    }

    @Test func `refuses canonically equivalent names in a JSON object`() throws {
        var request = Request("http://h/", method: .post, parameters: ["ü": 1, "u\u{308}": 2])
        #expect(try WireRequest(request).body?.encoded() == Data("%C3%BC=1&u%CC%88=2".utf8))
        request.destination = .json
        let error = #expect(throws: RequestError.self) { try WireRequest(request) }
        #expect(error?.code == .malformedParameter)
    }

    @Test(arguments: ParameterEncoding.Arrays.allCases)
    func `is part of the encoded form and of the sent text`(arrays: ParameterEncoding.Arrays)
        throws
    {
        var request = Request("http://h/", method: .post, parameters: ["a": [1, 2]])
        request.encoding = ParameterEncoding(arrays: arrays, objects: .json)
        let copy = try Request(json: try request.json())
        #expect(copy == request)
        let sent = try WireRequest(copy).body?.encoded(copy.encoding)
        #expect(sent == Data(try query(["a": [1, 2]], request.encoding).utf8))
    }
}
