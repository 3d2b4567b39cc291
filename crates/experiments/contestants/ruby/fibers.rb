# frozen_string_literal: true

# Fibers that pass a token around; a first in, first out queue resumes them.
require_relative 'arguments'

threads, hops = read_arguments
tokens = Array.new(threads)
ready = []

ring = Array.new(threads) do |index|
  following = (index + 1) % threads
  Fiber.new do
    loop do
      Fiber.yield
      token = tokens[index]
      break index + 1 if token.zero?

      tokens[following] = token - 1
      ready.push(following)
    end
  end
end
ring.each(&:resume)

tokens[0] = hops
ready.push(0)
answer = nil
answer = ring[ready.shift].resume until answer
puts answer
