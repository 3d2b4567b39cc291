# frozen_string_literal: true

# Threads of the operating system that pass a token around, each waiting at a queue of its own.
require_relative 'arguments'

threads, hops = read_arguments
queues = Array.new(threads) { Queue.new }
last = Queue.new

queues.each_with_index do |own, index|
  following = queues[(index + 1) % threads]
  Thread.new do
    until (token = own.pop).zero?
      following.push(token - 1)
    end
    last.push(index + 1)
  end
end

queues[0].push(hops)
puts last.pop
