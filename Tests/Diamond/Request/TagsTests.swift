import Diamond
import Foundation
import Testing

@Suite("A set of tags") struct TagsTests {
    private static let composed = "zo\u{EB}"
    private static let decomposed = "zoe\u{308}"

    @Test func `keeps texts apart that only look the same`() {
        var tags: Tags = [Self.composed]
        #expect(tags.insert(Self.decomposed).inserted && !tags.insert(Self.composed).inserted && tags.count == 2)
        #expect(!tags.contains("zoe") && tags.union([Self.composed, "zoe"]).count == 3)
        #expect(tags.remove(Self.composed) != nil && tags.remove(Self.composed) == nil && tags == [Self.decomposed])
    }

    @Test func `is described and encoded as a list in the order of its bytes`() throws {
        let tags: Tags = ["b", "a", Self.decomposed]
        #expect(tags.description == ["a", "b", Self.decomposed].description)
        let text = try JSONEncoder().encode(tags)
        #expect(try JSONDecoder().decode(Tags.self, from: text) == tags)
        #expect(try JSONDecoder().decode([String].self, from: text) == tags.sorted())
    }
}
